import { expect } from 'chai';
import type { Answer } from '../../../../dev/clients/receiver.ts';
import { removeStudent } from '../../../../domain/students/students.ts';
import type { AttemptOutcome } from '../../../../entities/webhooks/values.ts';
import { attemptDelivery, type DeliveryDeps } from '../../../../domain/webhooks/attempts/attempt.ts';
import { purgeStudentFromWebhooks } from '../../../../domain/webhooks/student-removal.ts';
import { attemptRows, deliveryRow, endpointRow, eventRow } from '../../../toolkit/assert/webhooks.ts';
import { testDatabase, testDeps } from '../../../toolkit/stack/database.ts';
import {
  buildWebhookDelivery,
  buildSubscription,
  type TestWebhookDelivery,
} from '../../../toolkit/builders/webhooks.ts';
import { alter } from '../../../toolkit/drive/alter.ts';
import { endLease } from '../../../toolkit/drive/deliveries.ts';
import { unreliable } from '../../../toolkit/fakes/databases.ts';
import { withOpenTransaction, untilWaitingForLocks } from '../../../toolkit/drive/races.ts';
import { useDeliveries } from '../../../toolkit/stack/receivers.ts';

const second = 1_000;

/** Complements attempts.test.ts: the claim of an attempt, and outcomes that arrive too late. */
describe('the claim and the record of a webhook attempt (ENG-2)', () => {
  const delivering = useDeliveries();

  const dueAt = async (...answers: readonly (Answer | Promise<Answer>)[]) => {
    const receiver = await delivering().receiver((_, number) => answers[number - 1] ?? { status: 200 });
    const delivery = await buildWebhookDelivery(await buildSubscription(`${receiver.url}/hook`));
    return { receiver, delivery };
  };
  const attempt = (delivery: { id: string }, changes: Partial<DeliveryDeps> = {}, now = Date.now()) =>
    attemptDelivery(delivering().deps(changes), delivery.id, now);
  const dying = (at: 'claimed' | 'posted'): Partial<DeliveryDeps> => ({
    failpoint: async (name) => {
      if (name === at) throw new Error('the worker died');
    },
  });
  const diesAt = async (at: 'claimed' | 'posted', delivery: TestWebhookDelivery) => {
    const failure = await attempt(delivery, dying(at)).catch((error: unknown) => error);
    expect(String(failure)).to.equal('Error: the worker died');
  };
  const outcomesOf = async (delivery: TestWebhookDelivery) =>
    (await attemptRows(delivery.id)).map(({ number, fence, outcome }) => ({ number, fence, outcome }));
  const everythingOf = async (delivery: TestWebhookDelivery) => ({
    delivery: await deliveryRow(delivery.id),
    attempts: await attemptRows(delivery.id),
    endpoint: await endpointRow(delivery.endpoint.id),
  });

  describe('a claim', () => {
    it('excludes a second claim during its lease of more than 15 s', async () => {
      const { receiver, delivery } = await dueAt();
      const startedAt = Date.now();
      await diesAt('claimed', delivery);
      const { leaseUntil } = await deliveryRow(delivery.id);
      expect(leaseUntil?.getTime()).to.be.within(startedAt + 25 * second, Date.now() + 25 * second);
      expect(await attempt(delivery)).to.deep.equal({
        done: false,
        waitingFor: 'lease',
        attempt: 1,
        at: leaseUntil?.getTime(),
      });
      expect(receiver.requests).to.have.length(0);
      expect(await outcomesOf(delivery)).to.deep.equal([{ number: 1, fence: 1, outcome: null }]);
    });

    it('makes the other of two concurrent steps wait for the lease', async () => {
      const answer = Promise.withResolvers<Answer>();
      const { receiver, delivery } = await dueAt(answer.promise);
      const both = [attempt(delivery), attempt(delivery)];
      expect(await Promise.race(both)).to.include({ done: false, waitingFor: 'lease' });
      answer.resolve({ status: 200 });
      expect((await Promise.all(both)).filter(({ done }) => done)).to.deep.equal([
        { done: true, outcome: 'succeeded' },
      ]);
      expect(receiver.requests).to.have.length(1);
      expect(await outcomesOf(delivery)).to.deep.equal([{ number: 1, fence: 1, outcome: 'succeeded' }]);
    });

    it('lets only one of twenty concurrent steps send the request', async () => {
      const { receiver, delivery } = await dueAt({ status: 200, delayMs: 300 });
      await Promise.all(Array.from({ length: 20 }, () => attempt(delivery)));
      expect(receiver.requests).to.have.length(1);
      expect(await deliveryRow(delivery.id)).to.include({ status: 'succeeded', attemptCount: 1, fence: 1 });
    });

    it('is tried again if the endpoint is enabled before the delivery is parked', async () => {
      const { receiver, delivery } = await dueAt();
      await alter('webhook_endpoints', delivery.endpoint.id, { status: 'paused' });
      let step: ReturnType<typeof attempt> | undefined;
      await withOpenTransaction(
        (tx) =>
          tx.manager.query(`UPDATE webhook_endpoints SET status = 'enabled' WHERE id = $1`, [delivery.endpoint.id]),
        async () => {
          step = attempt(delivery);
          await untilWaitingForLocks(1);
        },
      );
      expect(await step).to.deep.equal({ done: true, outcome: 'succeeded' });
      expect(receiver.requests).to.have.length(1);
    });

    it('is tried three times, and then left to the next step', async () => {
      const { receiver, delivery } = await dueAt();
      let statements = 0;
      const db = unreliable((await testDeps()).db, async () => {
        const status = ++statements % 2 === 1 && statements < 7 ? 'paused' : 'enabled'; // the statements alternate: a claim, a read, a claim and so on
        await alter('webhook_endpoints', delivery.endpoint.id, { status });
        return undefined;
      });
      const now = Date.now();
      expect(await attempt(delivery, { db }, now)).to.deep.equal({
        done: false,
        waitingFor: 'attempt',
        at: now,
        attempt: 1,
      });
      expect(statements).to.equal(6);
      expect(receiver.requests).to.have.length(0);
    });
  });

  describe('an attempt whose worker died', () => {
    it('is marked as interrupted, but attempts of other deliveries are not', async () => {
      const { delivery } = await dueAt();
      const other = await dueAt();
      await diesAt('claimed', delivery);
      await endLease(delivery.id);
      await diesAt('claimed', other.delivery);
      expect(await attempt(delivery)).to.deep.equal({ done: true, outcome: 'succeeded' });
      expect(await outcomesOf(other.delivery)).to.deep.equal([{ number: 1, fence: 1, outcome: null }]);
    });

    it('is marked as interrupted after its lease, and its number is used again', async () => {
      const { receiver, delivery } = await dueAt();
      await diesAt('posted', delivery);
      await endLease(delivery.id);
      expect(await attempt(delivery)).to.deep.equal({ done: true, outcome: 'succeeded' });
      expect(await outcomesOf(delivery)).to.deep.equal([
        { number: 1, fence: 1, outcome: 'interrupted' },
        { number: 1, fence: 2, outcome: 'succeeded' },
      ]);
      // The receiver cannot distinguish the two requests: they have equal ids and bytes.
      const [first, again] = receiver.requests;
      expect(again?.headers['webhook-id']).to.equal(first?.headers['webhook-id']);
      expect(again?.body).to.deep.equal(first?.body);
      expect(await deliveryRow(delivery.id)).to.include({ attemptCount: 1 });
    });

    it('is repeated three times, and then fails without counting against the endpoint', async () => {
      const { receiver, delivery } = await dueAt();
      for (let times = 1; times <= 4; times++) {
        await diesAt('claimed', delivery);
        await endLease(delivery.id);
      }
      expect((await deliveryRow(delivery.id)).attemptCount).to.equal(0);

      const reported: AttemptOutcome[] = [];
      const now = Date.now();
      const step = await attempt(delivery, { onAttempt: ({ outcome }) => reported.push(outcome) }, now);
      expect(step).to.deep.equal({ done: false, waitingFor: 'attempt', attempt: 2, at: now + 5 * second });
      expect(reported).to.deep.equal(['interrupted']);
      expect(receiver.requests).to.have.length(0);
      expect(await outcomesOf(delivery)).to.deep.equal(
        [1, 2, 3, 4, 5].map((fence) => ({ number: 1, fence, outcome: 'interrupted' })),
      );
      expect(await deliveryRow(delivery.id)).to.include({ status: 'pending', attemptCount: 1, leaseUntil: null });
      expect(await endpointRow(delivery.endpoint.id)).to.include({ consecutiveFailures: 0, failingSince: null });
      // Attempt 2 begins without any counted interruption.
      expect(await attempt(delivery, {}, now + 5 * second)).to.deep.equal({ done: true, outcome: 'succeeded' });
      expect((await outcomesOf(delivery)).at(-1)).to.deep.equal({ number: 2, fence: 6, outcome: 'succeeded' });
    });

    it('succeeds with its fourth try after three interruptions', async () => {
      const { receiver, delivery } = await dueAt();
      for (let times = 1; times <= 3; times++) {
        await diesAt('posted', delivery);
        await endLease(delivery.id);
      }
      expect(await attempt(delivery)).to.deep.equal({ done: true, outcome: 'succeeded' });
      expect(receiver.requests).to.have.length(4);
      expect(await deliveryRow(delivery.id)).to.include({ attemptCount: 1, fence: 4 });
    });

    it('fails the delivery if the workers of its eighth attempt died too often', async () => {
      const { delivery } = await dueAt();
      await alter('webhook_deliveries', delivery.id, { attempt_count: 7, schedule_position: 7 });
      for (let times = 1; times <= 4; times++) {
        await diesAt('claimed', delivery);
        await endLease(delivery.id);
      }
      expect(await attempt(delivery)).to.deep.equal({ done: true, outcome: 'failed' });
    });

    it('throws an error, and counts no failure, if the process cannot send the request', async () => {
      const { delivery } = await dueAt();
      const failure = await attempt(delivery, {
        post: () => Promise.reject(new Error('no sockets left')),
      }).catch((error: unknown) => error);
      expect(String(failure)).to.equal('Error: no sockets left');
      expect(await outcomesOf(delivery)).to.deep.equal([{ number: 1, fence: 1, outcome: null }]);
      expect(await endpointRow(delivery.endpoint.id)).to.include({ consecutiveFailures: 0 });
    });
  });

  describe('the late outcome of an attempt without a lease', () => {
    for (const late of [
      { status: 200, body: 'late' },
      { status: 500, body: 'late' },
      { status: 429, headers: { 'retry-after': '3600' } },
    ]) {
      it(`changes nothing after a newer attempt has succeeded (${late.status})`, async () => {
        const answer = Promise.withResolvers<Answer>();
        const { receiver, delivery } = await dueAt(answer.promise, { status: 200 });
        const stalled = attempt(delivery);
        await receiver.waitFor(1, 2 * second);
        await endLease(delivery.id);
        expect(await attempt(delivery)).to.deep.equal({ done: true, outcome: 'succeeded' });
        await alter('webhook_endpoints', delivery.endpoint.id, {
          consecutive_failures: 3,
          failing_since: new Date(0),
          last_success_at: new Date(1),
        });

        const before = await everythingOf(delivery);
        answer.resolve(late);
        expect(await stalled).to.deep.equal({ done: true, outcome: 'succeeded' });
        expect(await everythingOf(delivery)).to.deep.equal(before);
      });

      it(`changes nothing while a newer attempt is in flight (${late.status})`, async () => {
        const answers = [Promise.withResolvers<Answer>(), Promise.withResolvers<Answer>()] as const;
        const { receiver, delivery } = await dueAt(answers[0].promise, answers[1].promise);
        const stalled = attempt(delivery);
        await receiver.waitFor(1, 2 * second);
        await endLease(delivery.id);
        const currentAttempt = attempt(delivery);
        await receiver.waitFor(2, 2 * second);
        await alter('webhook_endpoints', delivery.endpoint.id, {
          consecutive_failures: 3,
          failing_since: new Date(0),
          last_success_at: new Date(1),
        });

        const before = await everythingOf(delivery);
        answers[0].resolve(late);
        expect(await stalled).to.include({ done: false, waitingFor: 'lease' });
        expect(await everythingOf(delivery)).to.deep.equal(before);
        answers[1].resolve({ status: 200 });
        expect(await currentAttempt).to.deep.equal({ done: true, outcome: 'succeeded' });
      });
    }
  });

  describe('an attempt in flight during the removal of its student', () => {
    for (const { status, outcome } of [
      { status: 200, outcome: 'succeeded' },
      { status: 503, outcome: 'http_error' },
    ] as const) {
      it(`leaves the delivery canceled and stores no excerpt (${status})`, async () => {
        const answer = Promise.withResolvers<Answer>();
        const { receiver, delivery } = await dueAt(answer.promise);
        const inFlight = attempt(delivery);
        await receiver.waitFor(1, 2 * second);
        await removeStudent(await testDeps(), delivery.clubId, delivery.studentId, new Date());
        const removed = await deliveryRow(delivery.id);
        expect(removed).to.include({ status: 'canceled', cancelReason: 'student_removed' });

        answer.resolve({ status, body: 'Stella Student was told' });
        expect(await inFlight).to.deep.equal({ done: true, outcome: 'canceled' });
        expect(await deliveryRow(delivery.id)).to.include({
          status: 'canceled',
          cancelReason: 'student_removed',
          attemptCount: 1,
          leaseUntil: null,
        });
        expect((await deliveryRow(delivery.id)).completedAt).to.deep.equal(removed.completedAt);
        expect((await attemptRows(delivery.id))[0]).to.include({
          outcome,
          responseStatus: status,
          responseExcerpt: null,
        });
        expect((await eventRow(delivery.eventId)).body).to.equal(null);
      });
    }

    for (const status of [200, 503]) {
      it(`is recorded after the removal commits, without an excerpt (${status})`, async () => {
        const answer = Promise.withResolvers<Answer>();
        const { receiver, delivery } = await dueAt(answer.promise);
        const inFlight = attempt(delivery);
        await receiver.waitFor(1, 2 * second);
        await withOpenTransaction(
          (tx) => purgeStudentFromWebhooks(tx, delivery.studentId, new Date()),
          async () => {
            answer.resolve({ status, body: 'Stella Student was told' });
            await untilWaitingForLocks(1);
          },
        );
        expect(await inFlight).to.deep.equal({ done: true, outcome: 'canceled' });
        expect((await attemptRows(delivery.id))[0]).to.include({ responseStatus: status, responseExcerpt: null });
      });
    }
  });

  describe('a delivery whose body is deleted', () => {
    const bodyless = async () => {
      const { receiver, delivery } = await dueAt();
      await (await testDatabase()).query(`DELETE FROM webhook_bodies WHERE event_id = $1`, [delivery.eventId]);
      return { receiver, delivery };
    };

    it('is canceled with the reason `expired`, and no attempt is made', async () => {
      const { receiver, delivery } = await bodyless();
      expect(await attempt(delivery)).to.deep.equal({ done: true, outcome: 'canceled' });
      expect(await deliveryRow(delivery.id)).to.include({ cancelReason: 'expired', leaseUntil: null, attemptCount: 0 });
      expect(await attemptRows(delivery.id)).to.deep.equal([]);
      expect(receiver.requests).to.have.length(0);
    });

    it('keeps its status if it has ended', async () => {
      const { receiver, delivery } = await bodyless();
      await alter('webhook_deliveries', delivery.id, { status: 'failed', requested: 'manual' });
      expect(await attempt(delivery)).to.deep.equal({ done: true, outcome: 'failed' });
      expect(await deliveryRow(delivery.id)).to.include({ cancelReason: null, requested: null, inFlight: null });
      expect(receiver.requests).to.have.length(0);
    });

    it('finds its body even if event and delivery differ in creation time', async () => {
      const { receiver, delivery } = await dueAt();
      await alter('webhook_deliveries', delivery.id, { created_at: new Date(Date.now() - second) });
      expect(await attempt(delivery)).to.deep.equal({ done: true, outcome: 'succeeded' });
      expect(receiver.requests).to.have.length(1);
    });
  });

  describe('an attempt in flight while its endpoint is disabled', () => {
    const disable = async ({ endpoint }: TestWebhookDelivery) => {
      await alter('webhook_endpoints', endpoint.id, {
        status: 'disabled',
        disabled_reason: 'manual',
        disabled_at: new Date(),
      });
      await (
        await testDatabase()
      ).query(
        `UPDATE webhook_deliveries SET status = 'canceled', completed_at = $2 WHERE endpoint_id = $1 AND status = 'pending'`,
        [endpoint.id, new Date()],
      );
    };
    for (const { status, becomes } of [
      { status: 200, becomes: 'succeeded' },
      { status: 500, becomes: 'canceled' },
    ] as const) {
      it(`leaves the delivery ${becomes} after the answer ${status}`, async () => {
        const answer = Promise.withResolvers<Answer>();
        const { receiver, delivery } = await dueAt(answer.promise);
        const inFlight = attempt(delivery);
        await receiver.waitFor(1, 2 * second);
        await disable(delivery);
        answer.resolve({ status, body: 'noted' });
        expect(await inFlight).to.deep.equal({ done: true, outcome: becomes });
        expect(await deliveryRow(delivery.id)).to.include({ status: becomes, cancelReason: null, attemptCount: 1 });
        expect((await attemptRows(delivery.id))[0]).to.include({ responseStatus: status, responseExcerpt: 'noted' });
      });
    }
  });
});
