/** Tests deliveries that administrators request: tests and resends (DEL-5, DEL-6, DEL-8, STATE-11, STATE-12). */
import { eventFaults } from '../toolkit/assert/contract-schemas.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { deliveryRun, wakesBy, wakesOf } from '../toolkit/assert/wakes.ts';
import { deliveryRow, endpointRow, eventRow } from '../toolkit/assert/webhooks.ts';
import { buildEndpoint, buildWebhookDelivery, type TestWebhookDelivery } from '../toolkit/builders/webhooks.ts';
import { alter } from '../toolkit/drive/alter.ts';
import { call, clock, expectError, type Answer } from '../toolkit/drive/api.ts';
import {
  noDeliveriesOf,
  noEndpointsOf,
  oneAfterAnother,
  openEndpointScene,
  publicUrl,
  type EndpointScene,
} from '../toolkit/drive/webhook-calls.ts';
import { withClockStopped } from '../toolkit/fakes/timers.ts';
import { rowCounts, testDatabase } from '../toolkit/stack/database.ts';
import { expect } from 'chai';

const minute = 60_000;
const day = 1_440 * minute;
/** The operations after which an endpoint is no longer enabled. */
const shut = ['pause', 'disable'] as const;

describe('webhook tests and resends', () => {
  let scene: EndpointScene;
  let id: string;
  beforeEach(async () => {
    scene = await openEndpointScene();
    id = scene.endpoint.id;
  });
  const read = async () => (await scene.webhooks.read(id)).body.data;

  describe('POST /v1/clubs/{clubId}/webhook-endpoints/{endpointId}/test', () => {
    const sendTest = () => scene.webhooks.sendTest(id);

    it('returns the complete webhook.test delivery, which is due now', async () => {
      const { status, body } = await sendTest();
      expect(status).to.equal(202);
      const { data } = body;
      expect(data).to.deep.equal({
        id: data.id,
        event_id: data.event_id,
        event_type: 'webhook.test',
        endpoint_id: id,
        status: 'pending',
        payload_purged: false,
        attempt_count: 0,
        next_attempt_at: data.created_at,
        created_at: data.created_at,
      });
      expect((await scene.webhooks.deliveries(id)).body).to.deep.equal({ data: [data], total: 1 });
      expect(await read()).to.include({ pending_deliveries: 1 });
    });

    it('sends the body that the contract defines for webhook.test, without personal data', async () => {
      const { data } = (await sendTest()).body;
      const { body, type, studentId } = await eventRow(data.event_id);
      expect({ type, studentId }).to.deep.equal({ type: 'webhook.test', studentId: null });
      const message: unknown = JSON.parse(body ?? '');
      expect(eventFaults('webhook.test', message)).to.deep.equal([]);
      expect(message).to.deep.equal({
        id: data.event_id,
        type: 'webhook.test',
        occurred_at: data.created_at,
        club_id: scene.club.id,
        data: { endpoint: { id } },
      });
      expect((await scene.webhooks.delivery(id, data.id)).body.data.body).to.deep.equal(message);
    });

    it('sends the event only to this endpoint, although no endpoint can subscribe to webhook.test', async () => {
      const other = await buildEndpoint(scene.club.id, publicUrl);
      await sendTest();
      expect((await scene.webhooks.deliveries(other.id)).body.total).to.equal(0);
      expect((await read()).event_types).to.not.include('webhook.test');
    });

    it('wakes the delivery but not the gate of the endpoint, even while the circuit breaker is open', async () => {
      await alter('webhook_endpoints', id, { breaker_step: 3, hold_until: new Date(Date.now() + minute) });
      let answer: Answer | undefined;
      const wakes = await wakesBy(scene.club.id, async () => (answer = await sendTest()));
      expect(wakes).to.deep.equal([deliveryRun(answer?.body.data)]);
      const [wake] = await wakesOf(scene.club.id);
      expect(wake).to.include({ workflowType: 'webhookDelivery', subjectId: answer?.body.data.id });
      expect(wake?.attributes).to.deep.equal({ ClubId: scene.club.id, EndpointId: id, EventType: 'webhook.test' });
      expect(await deliveryRow(answer?.body.data.id)).to.include({ requested: 'test', schedulePosition: 0 });
    });

    it('creates a new event each time', async () => {
      const events = [(await sendTest()).body.data.event_id, (await sendTest()).body.data.event_id];
      expect(new Set(events).size).to.equal(2);
    });

    it('does not change the endpoint’s record', async () => {
      const before = await endpointRow(id);
      await sendTest();
      expect(await endpointRow(id)).to.deep.equal(before);
    });

    for (const operation of shut) {
      it(`returns 409 endpoint_not_enabled after ${operation}, and writes nothing`, async () => {
        await scene.webhooks[operation](id);
        const before = await rowCounts();
        const wakes = await wakesBy(scene.club.id, async () => expectError(await sendTest(), 'endpoint_not_enabled'));
        expect(wakes).to.deep.equal([]);
        expect({ ...(await rowCounts()), wakes: 0 }).to.deep.equal({ ...before, wakes: 0 });
      });

      it(`returns 409 endpoint_not_enabled to a test that waited until ${operation} ended`, async () => {
        const [, late] = await oneAfterAnother(id, [() => scene.webhooks[operation](id), sendTest]);
        if (!late) throw new Error('Two requests returned fewer than two answers');
        expectError(late, 'endpoint_not_enabled');
        expect((await scene.webhooks.deliveries(id)).body.total).to.equal(0);
      });
    }

    it('creates a delivery that is canceled if the endpoint is disabled before the attempt', async () => {
      const [answer] = await oneAfterAnother(id, [sendTest, () => scene.webhooks.disable(id)]);
      expect(await deliveryRow(answer?.body.data.id)).to.include({ status: 'canceled', requested: null });
    });

    it('returns the same 404 text for an endpoint that is unknown, deleted or of another club', async () => {
      const answers = [];
      for (const unknown of await noEndpointsOf(scene)) answers.push(await scene.webhooks.sendTest(unknown));
      await eachCase(answers, (answer) => expectError(answer, 'not_found'));
      expect(new Set(answers.map(({ text }) => text)).size).to.equal(1);
    });
  });

  describe('POST …/webhook-endpoints/{endpointId}/deliveries/{deliveryId}/resend', () => {
    let delivery: TestWebhookDelivery;
    beforeEach(async () => {
      delivery = await buildWebhookDelivery(scene.subscription);
    });
    const resend = () => scene.webhooks.resend(id, delivery.id);
    const end = (status: string, columns: object = {}) =>
      alter('webhook_deliveries', delivery.id, { status, completed_at: new Date(), ...columns });
    /** Asserts that a refusal changes no row and wakes no run. */
    const expectRefused = async (code: 'payload_purged' | 'endpoint_not_enabled' | 'not_found') => {
      const before = await deliveryRow(delivery.id);
      expect(await wakesBy(scene.club.id, async () => expectError(await resend(), code))).to.deep.equal([]);
      expect(await deliveryRow(delivery.id)).to.deep.equal(before);
    };

    for (const status of ['succeeded', 'failed', 'canceled'] as const) {
      it(`requests one manual attempt of a ${status} delivery, and does not change the delivery’s status`, async () => {
        await end(status, { attempt_count: 8, schedule_position: 8 });
        const before = (await scene.webhooks.delivery(id, delivery.id)).body.data;
        const { status: answered, body } = await resend();
        expect(answered).to.equal(202);
        const { attempts: _, body: __, ...record } = before;
        expect(body.data).to.deep.equal(record);
        expect(body.data.status).to.equal(status);
        expect(await deliveryRow(delivery.id)).to.include({
          requested: 'manual',
          attemptCount: 8,
          schedulePosition: 8,
        });
        expect((await read()).pending_deliveries).to.equal(0);
      });
    }

    it('moves the next attempt of a pending delivery to now, and keeps its position in the retry schedule', async () => {
      await alter('webhook_deliveries', delivery.id, {
        next_attempt_at: new Date(Date.now() + 60 * minute),
        attempt_count: 3,
        schedule_position: 3,
        parked_at: new Date(),
      });
      await withClockStopped(async (now) => {
        const { data } = (await resend()).body;
        expect(data).to.include({ status: 'pending', attempt_count: 3 });
        expect(Date.parse(data.next_attempt_at)).to.equal(now);
      });
      expect(await deliveryRow(delivery.id)).to.include({ requested: 'manual', parkedAt: null, schedulePosition: 3 });
    });

    it('sets the time of an overdue delivery to now, so that the sweeper does not count it as forgotten', async () => {
      await alter('webhook_deliveries', delivery.id, { next_attempt_at: new Date(Date.now() - 60 * minute) });
      await withClockStopped(async (now) => {
        const { data } = (await resend()).body;
        expect(Date.parse(data.next_attempt_at)).to.equal(now);
      });
    });

    it('wakes the delivery but not the gate of the endpoint, even while the circuit breaker is open', async () => {
      await alter('webhook_endpoints', id, { breaker_step: 3, hold_until: new Date(Date.now() + minute) });
      expect(await wakesBy(scene.club.id, resend)).to.deep.equal([deliveryRun(delivery)]);
      const [wake] = await wakesOf(scene.club.id);
      expect(wake?.attributes).to.deep.equal({ ClubId: scene.club.id, EndpointId: id, EventType: 'student.updated' });
    });

    it('changes nothing if a resend is requested again before the attempt', async () => {
      await end('failed');
      await resend();
      expect((await resend()).status).to.equal(202);
      expect(await deliveryRow(delivery.id)).to.include({ requested: 'manual' });
    });

    it('keeps the kind of a requested test or recovery, but does not wait for the gate', async () => {
      await eachCase(['test', 'recovery'] as const, async (requested) => {
        await alter('webhook_deliveries', delivery.id, { requested, parked_at: new Date() });
        await resend();
        expect(await deliveryRow(delivery.id)).to.include({ requested, parkedAt: null });
      });
    });

    describe('409 payload_purged', () => {
      it('is returned after the body was purged, and the delivery remains in the history', async () => {
        await end('failed', { payload_purged_at: new Date() });
        expect((await scene.webhooks.delivery(id, delivery.id)).body.data.payload_purged).to.equal(true);
        await expectRefused('payload_purged');
      });

      it('is returned 30 days after the creation, before retention runs', async () => {
        await end('failed');
        clock.advance(30 * day - minute);
        expect((await resend()).status).to.equal(202);
        await alter('webhook_deliveries', delivery.id, { requested: null });
        clock.advance(minute);
        expect((await deliveryRow(delivery.id)).payloadPurgedAt).to.equal(null);
        await expectRefused('payload_purged');
      });

      it('is returned after the student was removed', async () => {
        const path = `/v1/clubs/${scene.club.id}/students/${scene.subscription.studentId}`;
        expect((await call('DELETE', path, { token: scene.club.owner.token })).status).to.be.below(300);
        expect(await deliveryRow(delivery.id)).to.include({ status: 'canceled', cancelReason: 'student_removed' });
        await expectRefused('payload_purged');
      });

      it('is returned after the delivery expired', async () => {
        await end('canceled', { cancel_reason: 'expired', payload_purged_at: new Date() });
        await expectRefused('payload_purged');
      });
    });

    describe('409 endpoint_not_enabled', () => {
      for (const operation of shut) {
        it(`is returned after ${operation}`, async () => {
          await end('failed');
          await scene.webhooks[operation](id);
          await expectRefused('endpoint_not_enabled');
        });

        it(`is returned to a resend that waited until ${operation} ended`, async () => {
          await end('failed');
          const [, late] = await oneAfterAnother(id, [() => scene.webhooks[operation](id), resend]);
          if (!late) throw new Error('Two requests returned fewer than two answers');
          expectError(late, 'endpoint_not_enabled');
          expect((await deliveryRow(delivery.id)).requested).to.equal(null);
        });
      }
    });

    describe('404', () => {
      it('has the same text for deliveries that are unknown or of another club or endpoint', async () => {
        const answers = [];
        for (const unknown of await noDeliveriesOf(scene)) answers.push(await scene.webhooks.resend(id, unknown));
        await eachCase(answers, (answer) => expectError(answer, 'not_found'));
        expect(new Set(answers.map(({ text }) => text)).size).to.equal(1);
        const source = await testDatabase();
        expect(
          await source.query(`SELECT id FROM webhook_deliveries WHERE requested IS NOT NULL AND club_id = $1`, [
            scene.club.id,
          ]),
        ).to.deep.equal([]);
      });

      it('has the same text for an endpoint that is unknown, deleted or of another club', async () => {
        const answers = [];
        for (const unknown of await noEndpointsOf(scene)) {
          answers.push(await scene.webhooks.resend(unknown, delivery.id));
        }
        await eachCase(answers, (answer) => expectError(answer, 'not_found'));
        expect(new Set(answers.map(({ text }) => text)).size).to.equal(1);
      });

      it('is returned instead of 409 for an unknown delivery of a paused endpoint', async () => {
        await scene.webhooks.pause(id);
        await eachCase(await noDeliveriesOf(scene), async (unknown) =>
          expectError(await scene.webhooks.resend(id, unknown), 'not_found'),
        );
      });
    });
  });
});
