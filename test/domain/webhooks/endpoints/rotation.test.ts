import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';
import type { Id } from '../../../../platform/core/ids.ts';
import { attemptDelivery } from '../../../../domain/webhooks/attempts/attempt.ts';
import { claimAttempt } from '../../../../domain/webhooks/attempts/claims.ts';
import { rotateSecret } from '../../../../domain/webhooks/endpoints/rotation.ts';
import { testDatabase, testDeps } from '../../../toolkit/stack/database.ts';
import { buildWebhookDelivery, buildSubscription, type Subscription } from '../../../toolkit/builders/webhooks.ts';
import { useDeliveries } from '../../../toolkit/stack/receivers.ts';

const hour = 3_600_000;

describe('the rotation of a secret (SIG-4)', () => {
  const delivering = useDeliveries();
  let subscription: Subscription;
  let now: Date;
  beforeEach(async () => {
    subscription = await buildSubscription('https://93.184.216.34/hook');
    now = new Date();
  });

  const rotate = async (at = now, expirePrevious = false): Promise<string> => {
    const { clubId, endpoint } = subscription;
    return (await rotateSecret(await testDeps(), clubId, endpoint.id, { expirePrevious }, at)).secret;
  };
  /** Newest first. */
  const signedWith = async (at: number): Promise<string[]> => {
    const delivery = await buildWebhookDelivery(subscription, now);
    const claim = await claimAttempt(await testDatabase(), delivery.id, at);
    if (!claim) throw new Error('No delivery was due.');
    return openAll([claim.secret, ...(claim.previousSecret ? [claim.previousSecret] : [])], subscription.endpoint.id);
  };
  const openAll = async (sealed: Buffer[], endpointId: Id) => {
    const { vault } = await testDeps();
    return sealed.map((secret) => vault.open(secret, endpointId));
  };
  const codeOf = (rotation: Promise<unknown>) =>
    rotation.then(
      () => undefined,
      (error: { code?: string }) => error.code,
    );

  it('sends two signatures for 24 hours, the new one first', async () => {
    const receiver = await delivering().receiver();
    subscription = await buildSubscription(`${receiver.url}/hook`);
    const { secret: old } = subscription.endpoint;
    const [waiting, secret] = [await buildWebhookDelivery(subscription), await rotate()];
    for (const { id } of [waiting, await buildWebhookDelivery(subscription)]) {
      await attemptDelivery(delivering().deps(), id, Date.now());
    }
    expect(receiver.requests).to.have.length(2);
    for (const [at, { headers, body }] of receiver.requests.entries()) {
      const signatures = headers['webhook-signature']?.split(' ') ?? [];
      expect(signatures, `request ${at}`).to.have.length(2);
      for (const [index, key] of [secret, old].entries()) {
        const header = { ...headers, 'webhook-signature': signatures[index] ?? '' };
        expect(new Webhook(key).verify(body, header)).to.include({ type: 'student.updated' });
        expect(new Webhook(key).verify(body, { ...headers })).to.include({ type: 'student.updated' });
      }
    }
  });

  it('adds a signature with the previous secret for exactly 24 hours', async () => {
    const { secret: old } = subscription.endpoint;
    const secret = await rotate();
    expect(await signedWith(now.getTime())).to.deep.equal([secret, old]);
    expect(await signedWith(now.getTime() + 24 * hour - 1)).to.deep.equal([secret, old]);
    expect(await signedWith(now.getTime() + 24 * hour)).to.deep.equal([secret]);
  });

  it('rejects another rotation for exactly 24 hours, with rotation_in_progress', async () => {
    await rotate();
    const at = (ms: number) => new Date(now.getTime() + ms);
    expect(await codeOf(rotate(at(24 * hour - 1)))).to.equal('rotation_in_progress');
    expect(await codeOf(rotate(at(24 * hour)))).to.equal(undefined);
  });

  it('changes no signature if the rotation is rejected', async () => {
    const { secret: old } = subscription.endpoint;
    const secret = await rotate();
    expect(await codeOf(rotate())).to.equal('rotation_in_progress');
    expect(await signedWith(now.getTime())).to.deep.equal([secret, old]);
  });

  it('deletes the oldest secret if expire_previous is set', async () => {
    const first = await rotate();
    const later = new Date(now.getTime() + hour);
    const second = await rotate(later, true);
    expect(await signedWith(later.getTime())).to.deep.equal([second, first]);
    expect(await signedWith(later.getTime() + 24 * hour - 1)).to.deep.equal([second, first]);
    expect(await signedWith(later.getTime() + 24 * hour)).to.deep.equal([second]);
  });

  it('encrypts a secret so that it opens only for its own endpoint', async () => {
    const secret = await rotate();
    const { vault } = await testDeps();
    const other = (await buildSubscription('https://93.184.216.34/hook')).endpoint;
    const delivery = await buildWebhookDelivery(subscription, now);
    const claim = await claimAttempt(await testDatabase(), delivery.id, now.getTime());
    expect(vault.open(claim?.secret ?? Buffer.alloc(0), subscription.endpoint.id)).to.equal(secret);
    expect(() => vault.open(claim?.secret ?? Buffer.alloc(0), other.id)).to.throw();
  });
});
