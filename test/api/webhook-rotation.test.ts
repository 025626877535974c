import { expect } from 'chai';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { wakesBy } from '../toolkit/assert/wakes.ts';
import { endpointRow } from '../toolkit/assert/webhooks.ts';
import { alter } from '../toolkit/drive/alter.ts';
import { call, clock, expectError } from '../toolkit/drive/api.ts';
import {
  noEndpointsOf,
  oneAfterAnother,
  openEndpointScene,
  type EndpointScene,
} from '../toolkit/drive/webhook-calls.ts';
import { columnsHolding, testDeps } from '../toolkit/stack/database.ts';

const second = 1_000;
const hour = 3_600 * second;

describe('POST /v1/clubs/{clubId}/webhook-endpoints/{endpointId}/rotate-secret', () => {
  let scene: EndpointScene;
  let id: string;
  beforeEach(async () => {
    scene = await openEndpointScene();
    id = scene.endpoint.id;
  });
  const rotate = (body: unknown = {}) => scene.webhooks.rotate(id, body);
  const read = async () => (await scene.webhooks.read(id)).body.data;
  /** Returns the decrypted current and previous secrets of the endpoint. */
  const storedSecrets = async () => {
    const { vault } = await testDeps();
    const { secret, previousSecret } = await endpointRow(id);
    return [secret, ...(previousSecret ? [previousSecret] : [])].map((sealed) => vault.open(sealed, id));
  };
  const expectUnchangedBy = async (act: () => Promise<unknown>) => {
    const before = await endpointRow(id);
    await act();
    expect(await endpointRow(id)).to.deep.equal(before);
  };

  describe('200', () => {
    it('returns the endpoint and a new secret, and keeps the previous secret valid for 24 hours', async () => {
      const before = await read();
      clock.advance(hour);
      const { status, body } = await rotate();
      expect(status).to.equal(200);
      const { endpoint, secret } = body.data;
      expect(secret)
        .to.match(/^whsec_[A-Za-z0-9+/]{43}=$/)
        .and.not.equal(scene.endpoint.secret);
      expect(Object.keys(body.data)).to.deep.equal(['endpoint', 'secret']);
      expect(endpoint).to.deep.equal({
        ...before,
        previous_secret_expires_at: endpoint.previous_secret_expires_at,
        updated_at: endpoint.updated_at,
      });
      expect(Date.parse(endpoint.previous_secret_expires_at) - Date.parse(endpoint.updated_at)).to.equal(24 * hour);
      expect(Date.parse(endpoint.updated_at)).to.be.at.least(Date.parse(before.updated_at) + hour);
      expect(await read()).to.deep.equal(endpoint);
    });

    it('is returned for a request without a body, with an empty body, and in chunks', async () => {
      const empty = { raw: '' };
      const chunked = { raw: new ReadableStream({ start: (stream) => stream.close() }) };
      await eachCase([{}, empty, chunked], async (payload) => {
        const { club, endpoint } = await openEndpointScene();
        const path = `/v1/clubs/${club.id}/webhook-endpoints/${endpoint.id}/rotate-secret`;
        const { status, body } = await call('POST', path, { ...payload, token: club.owner.token });
        expect([status, body.data.endpoint.id]).to.deep.equal([200, endpoint.id]);
      });
    });

    it('stores the new secret as current and the former secret as previous, both encrypted', async () => {
      const { secret } = (await rotate()).body.data;
      expect(await storedSecrets()).to.deep.equal([secret, scene.endpoint.secret]);
      const { secret: sealed, previousSecret } = await endpointRow(id);
      await eachCase([secret, scene.endpoint.secret], async (shownSecret) => {
        const key = Buffer.from(shownSecret.slice('whsec_'.length), 'base64');
        expect([sealed, previousSecret].some((bytes) => bytes?.includes(key))).to.equal(false);
        expect(await columnsHolding(shownSecret.slice('whsec_'.length))).to.deep.equal([]);
      });
    });

    it('shows the new secret only in this answer', async () => {
      const { secret } = (await rotate()).body.data;
      const { webhooks } = scene;
      const others = [
        await webhooks.read(id),
        await webhooks.list(),
        await webhooks.change(id, { description: 'x' }),
        await webhooks.pause(id),
        await webhooks.enable(id),
        await webhooks.sendTest(id),
        await webhooks.deliveries(id),
        await webhooks.disable(id),
        await rotate(),
      ];
      await eachCase(others, async ({ text }) =>
        eachCase([secret, scene.endpoint.secret, 'whsec_'], (hidden) => expect(text).to.not.include(hidden)),
      );
    });

    it('wakes nothing', async () => {
      expect(await wakesBy(scene.club.id, () => rotate())).to.deep.equal([]);
    });

    for (const state of ['pause', 'disable'] as const) {
      it(`is also returned after ${state}: a leaked secret can be replaced while nothing is sent`, async () => {
        await scene.webhooks[state](id);
        const { status } = await read();
        expect((await rotate()).body.data.endpoint.status).to.equal(status);
      });
    }

    it('hides previous_secret_expires_at after 24 hours, and allows the next rotation', async () => {
      const first = (await rotate()).body.data.secret;
      clock.advance(24 * hour);
      expect(await read()).to.not.have.property('previous_secret_expires_at');
      const { endpoint, secret } = (await rotate()).body.data;
      expect(Date.parse(endpoint.previous_secret_expires_at)).to.be.above(clock.now().getTime() + 23 * hour);
      expect(await storedSecrets()).to.deep.equal([secret, first]);
    });

    it('ends the previous secret if expire_previous is true, and keeps the replaced one for 24 hours', async () => {
      const first = (await rotate()).body.data.secret;
      clock.advance(hour);
      const { status, body } = await rotate({ expire_previous: true });
      expect(status).to.equal(200);
      expect(await storedSecrets()).to.deep.equal([body.data.secret, first]);
      const { previous_secret_expires_at: expiresAt, updated_at: rotatedAt } = body.data.endpoint;
      expect(Date.parse(expiresAt) - Date.parse(rotatedAt)).to.equal(24 * hour);
    });

    it('rotates as usual with expire_previous if no previous secret is valid', async () => {
      const { secret } = (await rotate({ expire_previous: true })).body.data;
      expect(await storedSecrets()).to.deep.equal([secret, scene.endpoint.secret]);
    });
  });

  describe('409 rotation_in_progress', () => {
    for (const body of [{}, { expire_previous: false }]) {
      it(`is returned to a second rotation until 24 hours after the first: ${JSON.stringify(body)}`, async () => {
        await rotate();
        await expectUnchangedBy(async () => expectError(await rotate(body), 'rotation_in_progress'));
        clock.advance(24 * hour - 30 * second);
        await expectUnchangedBy(async () => expectError(await rotate(body), 'rotation_in_progress'));
        expect(await read()).to.have.property('previous_secret_expires_at');
      });
    }

    it('is returned to one of two simultaneous rotations, while the other rotation stores its secret', async () => {
      const [accepted, refused] = await oneAfterAnother(id, [() => rotate(), () => rotate()]);
      expect(accepted?.status).to.equal(200);
      if (!refused) throw new Error('Two requests returned fewer than two answers');
      expectError(refused, 'rotation_in_progress');
      expect(await storedSecrets()).to.deep.equal([accepted?.body.data.secret, scene.endpoint.secret]);
    });

    it('is not returned to two simultaneous rotations with expire_previous, and both secrets are valid', async () => {
      const answers = await oneAfterAnother(id, [
        () => rotate({ expire_previous: true }),
        () => rotate({ expire_previous: true }),
      ]);
      const secrets = answers.map(({ body }) => body.data.secret);
      expect(await storedSecrets()).to.deep.equal(secrets.toReversed());
    });
  });

  describe('404 and 400', () => {
    it('returns the same 404 text for an endpoint that is unknown, deleted or of another club', async () => {
      const answers = [];
      for (const unknown of await noEndpointsOf(scene)) answers.push(await scene.webhooks.rotate(unknown));
      await eachCase(answers, (answer) => expectError(answer, 'not_found'));
      expect(new Set(answers.map(({ text }) => text)).size).to.equal(1);
    });

    it('returns 404 for another club’s endpoint, and keeps its secret', async () => {
      const foreign = (await openEndpointScene()).endpoint;
      const before = await endpointRow(foreign.id);
      await scene.webhooks.rotate(foreign.id, { expire_previous: true });
      expect(await endpointRow(foreign.id)).to.deep.equal(before);
    });

    it('returns 400 if expire_previous is not a boolean, or if the body is a list or contains a secret', async () => {
      await alter('webhook_endpoints', id, { description: 'x' });
      await expectUnchangedBy(async () => {
        await eachCase(
          [
            { expire_previous: 'true' },
            { expire_previous: 1 },
            { expire_previous: null },
            { secret: scene.endpoint.secret },
            [],
          ],
          async (body) => expectError(await rotate(body), 'malformed_request'),
        );
      });
    });
  });
});
