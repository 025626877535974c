import { expect } from 'chai';
import { isSignedWith, type ReceivedRequest } from '../../dev/clients/receiver.ts';
import { sendTest } from '../../domain/webhooks/events/test-event.ts';
import { rotateSecret } from '../../domain/webhooks/endpoints/rotation.ts';
import type { Subscription } from '../toolkit/builders/webhooks.ts';
import { useSkippedEngine } from '../toolkit/stack/skipped-engine.ts';

const second = 1_000;
const hour = 3_600 * second;

describe('the rotation of a secret over time (SIG-4)', function () {
  this.timeout(60_000);
  const engine = useSkippedEngine();

  const rotate = ({ clubId, endpoint }: Subscription, expirePrevious = false) =>
    engine().act((deps, now) => rotateSecret(deps, clubId, endpoint.id, { expirePrevious }, now));
  const test = ({ clubId, endpoint }: Subscription) =>
    engine().act((deps, now) => sendTest(deps, clubId, endpoint.id, now));
  const signaturesOf = ({ headers }: ReceivedRequest) => (headers['webhook-signature'] ?? '').split(' ');

  it('signs with both secrets for 24 hours, and then with the new secret', async () => {
    const { receiver, subscription } = await engine().endpoint();
    const old = subscription.endpoint.secret;
    const { secret } = await rotate(subscription);
    expect(secret).not.to.equal(old);
    await test(subscription);
    await receiver.waitFor(1, 5 * second);
    await engine().pass(24 * hour - 60 * second);
    await test(subscription);
    await receiver.waitFor(2, 5 * second);
    await engine().pass(60 * second);
    await test(subscription);
    const requests = await receiver.waitFor(3, 5 * second);

    expect(requests.map((request) => signaturesOf(request).length)).to.deep.equal([2, 2, 1]);
    expect(requests.map((request) => isSignedWith(secret, request))).to.deep.equal([true, true, true]);
    expect(requests.map((request) => isSignedWith(old, request))).to.deep.equal([true, true, false]);
  });

  it('signs the attempt after a day only with the new secret', async () => {
    const { receiver, subscription } = await engine().endpoint(() => ({ status: 500 }));
    const old = subscription.endpoint.secret;
    const { secret } = await rotate(subscription);
    const delivery = await engine().deliver(subscription);
    expect(await engine().runOf(delivery).result()).to.equal('failed');
    const { requests } = receiver;
    expect(requests.map((request) => isSignedWith(old, request))).to.deep.equal([
      ...Array.from({ length: 7 }, () => true),
      false,
    ]);
    expect(requests.map((request) => isSignedWith(secret, request))).to.deep.equal(requests.map(() => true));
  });

  it('signs with the two newest secrets after a second rotation', async () => {
    const { receiver, subscription } = await engine().endpoint();
    const oldest = subscription.endpoint.secret;
    const first = await rotate(subscription);
    const second_ = await rotate(subscription, true);
    await test(subscription);
    const [request] = await receiver.waitFor(1, 5 * second);
    expect([oldest, first.secret, second_.secret].map((one) => request && isSignedWith(one, request))).to.deep.equal([
      false,
      true,
      true,
    ]);
  });
});
