import { newId } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { gateRun, wakesBy, wakesOf } from '../toolkit/assert/wakes.ts';
import { deliveryRow, endpointRow } from '../toolkit/assert/webhooks.ts';
import { buildEndpoint, buildWebhookDelivery, type TestWebhookDelivery } from '../toolkit/builders/webhooks.ts';
import { alter } from '../toolkit/drive/alter.ts';
import { clock, expectError, type Answer } from '../toolkit/drive/api.ts';
import {
  noEndpointsOf,
  oneAfterAnother,
  openEndpointScene,
  publicUrl,
  type EndpointScene,
} from '../toolkit/drive/webhook-calls.ts';
import { useStoppedClock } from '../toolkit/fakes/timers.ts';
import { expect } from 'chai';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const ago = (ms: number) => new Date(clock.now().getTime() - ms);

describe('POST /v1/clubs/{clubId}/webhook-endpoints/{endpointId}/recover', () => {
  let scene: EndpointScene;
  let id: string;
  beforeEach(async () => {
    scene = await openEndpointScene();
    id = scene.endpoint.id;
  });
  const recover = (since: Date | string = ago(hour)): Promise<Answer> => scene.webhooks.recover(id, since);
  const ended = async (columns: object, createdAt = new Date()): Promise<TestWebhookDelivery> => {
    const delivery = await buildWebhookDelivery(scene.subscription, createdAt);
    const usual = { status: 'failed', completed_at: createdAt, attempt_count: 8, schedule_position: 8 };
    await alter('webhook_deliveries', delivery.id, { ...usual, ...columns });
    return delivery;
  };

  describe('202', () => {
    useStoppedClock();

    it('makes failed deliveries pending again for one attempt each, which waits for the gate', async () => {
      const deliveries = [await ended({}), await ended({})];
      const { status, body } = await recover();
      expect(status).to.equal(202);
      expect(body).to.deep.equal({ data: { recovered: 2 } });
      await eachCase(deliveries, async (delivery) => {
        const record = (await scene.webhooks.delivery(id, delivery.id)).body.data;
        expect(record).to.include({ status: 'pending', attempt_count: 8, payload_purged: false });
        expect(record).to.not.have.any.keys('completed_at', 'cancel_reason');
        expect(record.next_attempt_at).to.equal(clock.now().toISOString());
        const row = await deliveryRow(delivery.id);
        expect(row).to.include({ requested: 'recovery', schedulePosition: 8 });
        expect(row.parkedAt).to.be.an.instanceOf(Date); // the delivery waits until the gate releases it
      });
      expect((await scene.webhooks.read(id)).body.data.pending_deliveries).to.equal(2);
    });

    it('includes deliveries that were canceled because the endpoint was disabled', async () => {
      const delivery = await buildWebhookDelivery(scene.subscription);
      await scene.webhooks.disable(id);
      await scene.webhooks.enable(id);
      expect((await recover()).body.data.recovered).to.equal(1);
      expect(await deliveryRow(delivery.id)).to.include({ status: 'pending', requested: 'recovery' });
    });

    it('excludes deliveries of removed students and expired deliveries', async () => {
      const purged = { status: 'canceled', payload_purged_at: new Date() };
      const deliveries = [
        await ended({ ...purged, cancel_reason: 'student_removed' }),
        await ended({ ...purged, cancel_reason: 'expired' }),
        // A removed student's delivery is excluded before its body is purged.
        await ended({ status: 'canceled', cancel_reason: 'expired' }),
        // A delivery that failed before the removal of its student is also excluded.
        await ended({ payload_purged_at: new Date() }),
      ];
      const before = await Promise.all(deliveries.map((delivery) => deliveryRow(delivery.id)));
      expect((await recover()).body.data.recovered).to.equal(0);
      expect(await Promise.all(deliveries.map((delivery) => deliveryRow(delivery.id)))).to.deep.equal(before);
    });

    it('excludes succeeded and pending deliveries', async () => {
      const deliveries = [await ended({ status: 'succeeded' }), await buildWebhookDelivery(scene.subscription)];
      const before = await Promise.all(deliveries.map((delivery) => deliveryRow(delivery.id)));
      expect((await recover()).body.data.recovered).to.equal(0);
      expect(await Promise.all(deliveries.map((delivery) => deliveryRow(delivery.id)))).to.deep.equal(before);
    });

    it('includes deliveries that ended exactly at `since` or later', async () => {
      const failedAt = ago(2 * hour);
      await ended({ completed_at: failedAt }, ago(2 * day));
      expect((await recover(new Date(failedAt.getTime() + 1))).body.data.recovered).to.equal(0);
      expect((await recover(failedAt)).body.data.recovered).to.equal(1);
    });

    it('accepts `since` in any ISO 8601 form of a date and time', async () => {
      const since = ago(hour).toISOString();
      for (const spelling of [since, since.toLowerCase(), since.replace('Z', '+00:00'), since.replace('Z', '456Z')]) {
        await ended({});
        expect((await recover(spelling)).body.data.recovered, spelling).to.equal(1);
      }
    });

    it('includes deliveries of the last 30 days', async () => {
      await ended({ completed_at: ago(29 * day) }, ago(29.9 * day));
      await ended({ completed_at: ago(29 * day) }, ago(30.1 * day));
      expect((await recover(ago(30 * day - minute))).body.data.recovered).to.equal(1);
    });

    it('treats an older `since` as 30 days ago, because the client’s clock may be slow', async () => {
      for (const since of [ago(30 * day), ago(30 * day + 1), ago(60 * day), '1970-01-01T00:00:00Z']) {
        await ended({ completed_at: ago(29.9 * day) }, ago(29.9 * day));
        await ended({ completed_at: ago(29.9 * day) }, ago(30.1 * day));
        const { status, body } = await recover(since);
        expect([status, body.data?.recovered], String(since)).to.deep.equal([202, 1]);
      }
    });

    it('excludes deliveries of other endpoints', async () => {
      const other = await buildEndpoint(scene.club.id, publicUrl);
      const elsewhere = await buildWebhookDelivery({ ...scene.subscription, endpoint: other });
      await alter('webhook_deliveries', elsewhere.id, { status: 'failed', completed_at: new Date() });
      expect((await recover()).body.data.recovered).to.equal(0);
      expect((await deliveryRow(elsewhere.id)).status).to.equal('failed');
    });

    it('wakes the gate of the endpoint, but no delivery', async () => {
      await ended({});
      await ended({});
      expect(await wakesBy(scene.club.id, () => recover())).to.deep.equal([gateRun({ id })]);
      const [wake] = await wakesOf(scene.club.id);
      expect(wake?.attributes).to.deep.equal({ ClubId: scene.club.id, EndpointId: id });
      expect((await endpointRow(id)).gateLooksAt).to.be.an.instanceOf(Date); // lets the sweeper find the delivery if the wake is lost
    });

    it('changes and wakes nothing if there is no delivery to recover', async () => {
      const before = await endpointRow(id);
      expect(await wakesBy(scene.club.id, () => recover())).to.deep.equal([]);
      expect(await endpointRow(id)).to.deep.equal(before);
    });

    it('recovers no delivery if the request is repeated', async () => {
      await ended({});
      expect((await recover()).body.data.recovered).to.equal(1);
      expect((await recover()).body.data.recovered).to.equal(0);
    });

    it('recovers each delivery only once if two requests arrive simultaneously', async () => {
      for (let count = 0; count < 3; count++) await ended({});
      const answers = await oneAfterAnother(id, [() => recover(), () => recover()]);
      expect(answers.map(({ body }) => body.data.recovered)).to.deep.equal([3, 0]);
    });

    it('recovers deliveries even while the circuit breaker is open', async () => {
      await alter('webhook_endpoints', id, { breaker_step: 3, hold_until: new Date(Date.now() + hour) });
      await ended({});
      expect((await recover()).body.data.recovered).to.equal(1);
    });
  });

  describe('409 endpoint_not_enabled', () => {
    for (const operation of ['pause', 'disable'] as const) {
      it(`is returned after ${operation}`, async () => {
        const delivery = await ended({});
        await scene.webhooks[operation](id);
        const wakes = await wakesBy(scene.club.id, async () => expectError(await recover(), 'endpoint_not_enabled'));
        expect(wakes).to.deep.equal([]);
        expect((await deliveryRow(delivery.id)).status).to.equal('failed');
      });
    }

    it('is returned if a simultaneous disable operation is stored before the recovery', async () => {
      const delivery = await ended({});
      const [, late] = await oneAfterAnother(id, [() => scene.webhooks.disable(id), () => recover()]);
      if (!late) throw new Error('Two requests returned fewer than two answers');
      expectError(late, 'endpoint_not_enabled');
      expect((await deliveryRow(delivery.id)).status).to.equal('failed');
    });

    it('is not returned if the recovery is stored first, and the disabling then cancels the deliveries', async () => {
      const delivery = await ended({});
      await oneAfterAnother(id, [() => recover(), () => scene.webhooks.disable(id)]);
      expect(await deliveryRow(delivery.id)).to.include({ status: 'canceled', cancelReason: null, requested: null });
    });
  });

  describe('400 and 422', () => {
    let delivery: TestWebhookDelivery;
    beforeEach(async () => {
      delivery = await ended({});
    });
    afterEach(async () => {
      expect((await deliveryRow(delivery.id)).status).to.equal('failed');
    });

    it('returns 422 with the field’s name for a future date or a year that the contract does not allow', async () => {
      await eachCase([ago(-minute), '0001-01-01T00:00:00Z', '9999-12-31T23:59:59Z'], async (since) => {
        const answer = await recover(since);
        expectError(answer, 'invalid_request');
        expect(answer.body.error.message).to.match(/^since/);
      });
    });

    it('returns 422 with the field’s name for a malformed date and time', async () => {
      await eachCase(['', 'yesterday', '2026-11-20', '2026-13-01T00:00:00Z', '2026-02-30T00:00:00Z'], async (since) => {
        const answer = await recover(since);
        expectError(answer, 'invalid_request');
        expect(answer.body.error.message).to.match(/^since/);
      });
    });

    it('returns 422 for a leap second', async () => {
      expectError(await recover('2016-12-31T23:59:60Z'), 'invalid_request');
    });

    it('returns 422, not 409 or 404, for a wrong time and a paused or unknown endpoint', async () => {
      await scene.webhooks.pause(id);
      expectError(await recover(ago(-minute)), 'invalid_request');
      expectError(await scene.webhooks.recover(newId(), ago(-minute)), 'invalid_request');
    });
  });

  it('returns the same 404 text for an endpoint that is unknown, deleted or of another club', async () => {
    const answers = [];
    for (const unknown of await noEndpointsOf(scene)) answers.push(await scene.webhooks.recover(unknown, ago(hour)));
    await eachCase(answers, (answer) => expectError(answer, 'not_found'));
    expect(new Set(answers.map(({ text }) => text)).size).to.equal(1);
  });
});
