/** Checks test attempts, resends and recoveries (DEL-5, DEL-6, STATE-11, STATE-12, STATE-15). */
import type { Answer, Receiver } from '../../../../dev/clients/receiver.ts';
import { attemptDelivery, type DeliveryDeps } from '../../../../domain/webhooks/attempts/attempt.ts';
import { gateRules, tendGate } from '../../../../domain/webhooks/queues/gate.ts';
import { recoverDeliveries, resendDelivery } from '../../../../domain/webhooks/deliveries/manual.ts';
import { sendTest } from '../../../../domain/webhooks/events/test-event.ts';
import type { WebhookEndpoint } from '../../../../entities/webhooks/webhook-endpoint.ts';
import { deliveryRun, gateRun, wakesBy } from '../../../toolkit/assert/wakes.ts';
import { attemptRows, deliveryRow, endpointRow } from '../../../toolkit/assert/webhooks.ts';
import {
  buildSubscription,
  buildWebhookDelivery,
  type Subscription,
  type TestWebhookDelivery,
} from '../../../toolkit/builders/webhooks.ts';
import { alter } from '../../../toolkit/drive/alter.ts';
import { claimed } from '../../../toolkit/drive/attempts.ts';
import { endLease } from '../../../toolkit/drive/deliveries.ts';
import { useStoppedClock } from '../../../toolkit/fakes/timers.ts';
import { testDeps } from '../../../toolkit/stack/database.ts';
import { useDeliveries } from '../../../toolkit/stack/receivers.ts';
import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

describe('requested attempts', () => {
  const delivering = useDeliveries();
  let receiver: Receiver;
  let subscription: Subscription;
  let answers: Answer[];
  beforeEach(async () => {
    answers = [];
    receiver = await delivering().receiver((_, number) => answers[number - 1] ?? { status: 200 });
    subscription = await buildSubscription(`${receiver.url}/hook`);
  });

  const due = () => buildWebhookDelivery(subscription);
  const attempt = ({ id }: { id: string }, changes: Partial<DeliveryDeps> = {}, now = Date.now()) =>
    attemptDelivery(delivering().deps(changes), id, now);
  const resend = async ({ id }: { id: string }, now = new Date()) =>
    resendDelivery(await testDeps(), subscription.clubId, subscription.endpoint.id, id, now);
  const recover = async (since = new Date(Date.now() - hour)) =>
    recoverDeliveries(await testDeps(), subscription.clubId, subscription.endpoint.id, since, new Date());
  const tend = async (now = Date.now()) => tendGate(await testDeps(), subscription.endpoint.id, now);
  const endpoint = (): Promise<WebhookEndpoint> => endpointRow(subscription.endpoint.id);
  const triggers = async ({ id }: { id: string }) => (await attemptRows(id)).map(({ trigger }) => trigger);
  const ended = async (status: string, columns: object = {}): Promise<TestWebhookDelivery> => {
    const delivery = await due();
    await alter('webhook_deliveries', delivery.id, {
      status,
      completed_at: new Date(),
      attempt_count: 8,
      schedule_position: 8,
      ...columns,
    });
    return delivery;
  };
  const throttle = () =>
    alter('webhook_endpoints', subscription.endpoint.id, {
      consecutive_failures: 6,
      failing_since: new Date(),
      breaker_step: 2,
      breaker_epoch: 2,
      hold_until: new Date(Date.now() + 30 * minute),
    });
  const failing: Answer = { status: 500 };
  /** Claims the attempt, for a worker that dies before it posts. */
  const dies = async (delivery: { id: string }) => void (await claimed(delivery));

  describe('resend of an ended delivery', () => {
    for (const status of ['succeeded', 'failed', 'canceled'] as const) {
      it(`ends a ${status} delivery as succeeded after one manual attempt`, async () => {
        const delivery = await due();
        answers = [failing];
        await attempt(delivery);
        await alter('webhook_deliveries', delivery.id, { status, completed_at: new Date(0) });
        await resend(delivery);
        expect(await attempt(delivery)).to.deep.equal({ done: true, outcome: 'succeeded' });
        const [first, again] = receiver.requests;
        expect(again?.body).to.deep.equal(first?.body);
        expect(again?.headers['webhook-id']).to.equal(first?.headers['webhook-id']).and.to.equal(delivery.eventId);
        expect(await triggers(delivery)).to.deep.equal(['schedule', 'manual']);
        const row = await deliveryRow(delivery.id);
        expect(row).to.include({ status: 'succeeded', attemptCount: 2, requested: null, inFlight: null });
        expect(row.completedAt?.getTime()).to.be.above(Date.now() - minute);
      });

      it(`keeps the status ${status} if the manual attempt fails`, async () => {
        const delivery = await ended(status, { attempt_count: 3, schedule_position: 3 });
        const before = await deliveryRow(delivery.id);
        answers = [failing];
        await resend(delivery);
        expect(await attempt(delivery)).to.deep.equal({ done: true, outcome: status });
        const row = await deliveryRow(delivery.id);
        expect(row).to.include({ status, attemptCount: 4, schedulePosition: 3, requested: null });
        expect(row.completedAt).to.deep.equal(before.completedAt);
        expect(await attempt(delivery, {}, Date.now() + 11 * hour)).to.deep.equal({ done: true, outcome: status });
        expect(receiver.requests).to.have.length(1);
      });
    }

    it('continues the attempt numbers after the eighth', async () => {
      const delivery = await ended('failed');
      answers = [failing];
      await resend(delivery);
      await attempt(delivery);
      expect((await attemptRows(delivery.id)).map(({ number, trigger }) => [number, trigger])).to.deep.equal([
        [9, 'manual'],
      ]);
    });

    it('makes one attempt for two requests that come before the attempt', async () => {
      const delivery = await ended('failed');
      await resend(delivery);
      await resend(delivery);
      await attempt(delivery);
      await attempt(delivery);
      expect(receiver.requests).to.have.length(1);
    });

    it('makes a second attempt for a request during the first attempt', async () => {
      const answer = Promise.withResolvers<Answer>();
      const slow = await delivering().receiver(() => answer.promise);
      await alter('webhook_endpoints', subscription.endpoint.id, { url: slow.url });
      const delivery = await ended('failed');
      await resend(delivery);
      const underway = attempt(delivery);
      await slow.waitFor(1, 2 * second);
      await resend(delivery);
      answer.resolve({ status: 500 });
      expect(await underway).to.include({ done: false });
      expect(await attempt(delivery)).to.deep.equal({ done: true, outcome: 'failed' });
      expect(await triggers(delivery)).to.deep.equal(['manual', 'manual']);
    });

    it('is repeated after its worker died', async () => {
      const delivery = await ended('failed');
      await resend(delivery);
      await dies(delivery);
      await resend(delivery);
      await endLease(delivery.id);
      answers = [failing, failing];
      expect(await attempt(delivery)).to.include({ done: false });
      expect(await attempt(delivery)).to.deep.equal({ done: true, outcome: 'failed' });
      expect((await attemptRows(delivery.id)).map(({ number, outcome }) => [number, outcome])).to.deep.equal([
        [9, 'interrupted'],
        [9, 'http_error'],
        [10, 'http_error'],
      ]);
    });
  });

  describe('resend of a pending delivery', () => {
    useStoppedClock();
    it('makes the next attempt immediately, and then follows the schedule', async () => {
      const delivery = await due();
      answers = [failing, failing];
      await attempt(delivery);
      await resend(delivery);
      const now = Date.now();
      const step = await attempt(delivery, {}, now);
      expect(step).to.include({ done: false, waitingFor: 'attempt', attempt: 3 });
      expect((step.done ? 0 : step.at) - now).to.equal(5 * minute);
      expect(await triggers(delivery)).to.deep.equal(['schedule', 'manual']);
      expect(await deliveryRow(delivery.id)).to.include({ status: 'pending', schedulePosition: 2, attemptCount: 2 });
    });

    it('makes the eighth attempt immediately, and its failure fails the delivery', async () => {
      const delivery = await due();
      await alter('webhook_deliveries', delivery.id, { attempt_count: 7, schedule_position: 7 });
      answers = [failing];
      await resend(delivery);
      expect(await attempt(delivery)).to.deep.equal({ done: true, outcome: 'failed' });
      expect(await deliveryRow(delivery.id)).to.include({ attemptCount: 8, schedulePosition: 8 });
    });

    it('ends the delivery after an answer 2xx', async () => {
      const delivery = await due();
      await resend(delivery);
      expect(await attempt(delivery)).to.deep.equal({ done: true, outcome: 'succeeded' });
    });
  });

  describe('test event', () => {
    useStoppedClock();
    const test = async () => sendTest(await testDeps(), subscription.clubId, subscription.endpoint.id, new Date());

    it('is signed and retried on the schedule like a real event', async () => {
      answers = [failing];
      const delivery = await test();
      const now = Date.now();
      const step = await attempt(delivery, {}, now);
      expect(step).to.include({ done: false, waitingFor: 'attempt', attempt: 2 });
      expect((step.done ? 0 : step.at) - now).to.equal(5 * second);
      expect(await attempt(delivery, {}, now + minute)).to.deep.equal({ done: true, outcome: 'succeeded' });
      expect(await triggers(delivery)).to.deep.equal(['test', 'schedule']);
      const [request] = receiver.requests;
      expect(new Webhook(subscription.endpoint.secret).verify(request?.body ?? '', { ...request?.headers })).to.include(
        {
          type: 'webhook.test',
          id: delivery.event_id,
        },
      );
    });

    it('is refused for a private address like a real event', async () => {
      await alter('webhook_endpoints', subscription.endpoint.id, { url: 'https://10.0.0.1/' });
      const delivery = await test();
      await attempt(delivery);
      const [first] = await attemptRows(delivery.id);
      expect(first).to.include({ outcome: 'address_refused' });
    });

    it('does not wait for the breaker, but its retry does', async () => {
      await throttle();
      answers = [failing];
      const delivery = await test();
      await attempt(delivery);
      expect(receiver.requests).to.have.length(1);
      expect(await attempt(delivery, {}, Date.now() + minute)).to.include({ waitingFor: 'gate' });
      expect(receiver.requests).to.have.length(1);
    });
  });

  describe('recovery', () => {
    it('fails the delivery if its one attempt fails', async () => {
      const delivery = await ended('canceled', { attempt_count: 2, schedule_position: 2 });
      answers = [failing];
      await recover();
      await tend();
      expect(await attempt(delivery)).to.deep.equal({ done: true, outcome: 'failed' });
      expect(await triggers(delivery)).to.deep.equal(['recovery']);
      expect(await deliveryRow(delivery.id)).to.include({ status: 'failed', attemptCount: 3, schedulePosition: 2 });
    });

    it('ends the delivery as succeeded after a 2xx answer', async () => {
      const delivery = await ended('failed');
      await recover();
      await tend();
      expect(await attempt(delivery)).to.deep.equal({ done: true, outcome: 'succeeded' });
      expect((await deliveryRow(delivery.id)).completedAt).to.not.equal(null);
    });

    it('waits for the gate, which releases few recoveries at a time', async () => {
      const deliveries = [];
      for (let count = 0; count < gateRules.recoveriesAtATime + 2; count++) deliveries.push(await ended('failed'));
      const [first] = deliveries;
      if (!first) throw new Error('No delivery was built.');
      await recover();
      expect(await attempt(first)).to.include({ done: false, waitingFor: 'gate' });
      const released = deliveries.slice(0, gateRules.recoveriesAtATime);
      expect(await wakesBy(subscription.clubId, () => tend())).to.deep.equal(released.map(deliveryRun).toSorted());
      expect(await wakesBy(subscription.clubId, () => tend())).to.deep.equal([]);
      expect(await wakesBy(subscription.clubId, () => attempt(first))).to.deep.equal([gateRun(subscription.endpoint)]);
      const next = deliveries.slice(gateRules.recoveriesAtATime, gateRules.recoveriesAtATime + 1);
      expect(await wakesBy(subscription.clubId, () => tend())).to.deep.equal(next.map(deliveryRun));
    });

    it('makes its own attempt even if it was requested during a resend', async () => {
      const answer = Promise.withResolvers<Answer>();
      const slow = await delivering().receiver((_, number) => (number === 1 ? answer.promise : { status: 500 }));
      await alter('webhook_endpoints', subscription.endpoint.id, { url: slow.url });
      const delivery = await ended('failed');
      await resend(delivery);
      const underway = attempt(delivery);
      await slow.waitFor(1, 2 * second);
      expect(await recover()).to.deep.equal({ recovered: 1 });
      answer.resolve({ status: 500 });
      await underway;
      expect(await deliveryRow(delivery.id)).to.include({ status: 'pending', requested: 'recovery' });
      await tend();
      expect(await attempt(delivery)).to.deep.equal({ done: true, outcome: 'failed' });
      expect(await triggers(delivery)).to.deep.equal(['manual', 'recovery']);
    });

    it('makes its own attempt even if a resend’s worker died', async () => {
      const delivery = await ended('canceled', { attempt_count: 2, schedule_position: 2 });
      await resend(delivery);
      await dies(delivery);
      expect(await recover()).to.deep.equal({ recovered: 1 });
      await endLease(delivery.id);
      answers = [failing, failing];
      await attempt(delivery);
      expect(await deliveryRow(delivery.id)).to.include({
        status: 'pending',
        requested: 'recovery',
        schedulePosition: 2,
      });
      await tend();
      expect(await attempt(delivery)).to.deep.equal({ done: true, outcome: 'failed' });
      expect(await triggers(delivery)).to.deep.equal(['manual', 'manual', 'recovery']);
    });

    it('is attempted immediately and only once if a resend follows', async () => {
      const delivery = await ended('failed');
      answers = [failing];
      await recover();
      await resend(delivery);
      expect(await attempt(delivery)).to.deep.equal({ done: true, outcome: 'failed' });
      expect(await triggers(delivery)).to.deep.equal(['recovery']);
    });
  });

  describe('an attempt at a throttled endpoint (DEL-5)', () => {
    useStoppedClock();
    /** Each operation returns a delivery that is ready for its attempt. */
    const ways: Record<string, () => Promise<{ id: string }>> = {
      'a resend of a failed delivery': async () => {
        const delivery = await ended('failed');
        await resend(delivery);
        return delivery;
      },
      'a resend of a pending delivery': async () => {
        const delivery = await due();
        await resend(delivery);
        return delivery;
      },
      'a test event': async () => sendTest(await testDeps(), subscription.clubId, subscription.endpoint.id, new Date()),
      'a recovery': async () => {
        const delivery = await ended('failed');
        await recover();
        await tend();
        return delivery;
      },
    };
    for (const [way, ask] of Object.entries(ways)) {
      it(`does not wait for the breaker after ${way}`, async () => {
        await throttle();
        const delivery = await ask();
        expect(await attempt(delivery)).to.deep.equal({ done: true, outcome: 'succeeded' });
        expect(await endpoint()).to.include({
          breakerStep: 0,
          consecutiveFailures: 0,
          failingSince: null,
          holdUntil: null,
        });
      });

      it(`opens the breaker again if the attempt after ${way} fails`, async () => {
        await throttle();
        const delivery = await ask();
        answers = [failing];
        await attempt(delivery);
        const { breakerStep, consecutiveFailures, holdUntil } = await endpoint();
        expect({ breakerStep, consecutiveFailures }).to.deep.equal({ breakerStep: 3, consecutiveFailures: 7 });
        expect((holdUntil?.getTime() ?? 0) - Date.now()).to.equal(4 * minute);
      });
    }

    it('waits for the gate if the attempt is scheduled', async () => {
      await throttle();
      expect(await attempt(await due())).to.include({ done: false, waitingFor: 'gate' });
      expect(receiver.requests).to.have.length(0);
    });

    it('is made after the gate admits its delivery', async () => {
      await throttle();
      const [one, other] = [await due(), await due()];
      for (const delivery of [one, other]) expect(await attempt(delivery)).to.include({ waitingFor: 'gate' });
      const afterHold = Date.now() + hour;
      expect(await tend(afterHold)).to.include({ done: false, doing: 'probing', parked: 1 });
      const { admittedDeliveryId } = await endpoint();
      const [admitted, waiting] = admittedDeliveryId === one.id ? [one, other] : [other, one];
      expect(await attempt(waiting, {}, afterHold)).to.include({ done: false, waitingFor: 'gate' });
      answers = [failing];
      await attempt(admitted, {}, afterHold);
      expect(await triggers(waiting)).to.deep.equal([]);
      expect(await triggers(admitted)).to.deep.equal(['schedule']);
    });
  });
});
