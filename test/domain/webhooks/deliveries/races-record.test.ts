import { expect } from 'chai';
import type { VaultDeps } from '../../../../domain/deps.ts';
import { removeStudent } from '../../../../domain/students/students.ts';
import { attemptDelivery, type DeliveryDeps } from '../../../../domain/webhooks/attempts/attempt.ts';
import { disableEndpoint } from '../../../../domain/webhooks/queues/endpoint-states.ts';
import { resendDelivery } from '../../../../domain/webhooks/deliveries/manual.ts';
import type { AttemptAnswer } from '../../../../domain/webhooks/attempts/post.ts';
import { createSuccessWriter } from '../../../../domain/webhooks/attempts/record-success.ts';
import { recordFailure } from '../../../../domain/webhooks/attempts/record-failure.ts';
import { attemptRows, deliveryRow, endpointRow } from '../../../toolkit/assert/webhooks.ts';
import {
  buildWebhookDelivery,
  buildSubscription,
  type TestWebhookDelivery,
} from '../../../toolkit/builders/webhooks.ts';
import { accepted, answering, claimed, refused, stepOf } from '../../../toolkit/drive/attempts.ts';
import { testDeps, depsOn } from '../../../toolkit/stack/database.ts';
import { alter } from '../../../toolkit/drive/alter.ts';
import { endLease } from '../../../toolkit/drive/deliveries.ts';
import { withOpenTransaction, untilWaitingForLocks } from '../../../toolkit/drive/races.ts';
import { fakePermits } from '../../../toolkit/fakes/attempt-permits.ts';
import { databaseOf, unreliable } from '../../../toolkit/fakes/databases.ts';
import { useStoppedClock } from '../../../toolkit/fakes/timers.ts';

describe('a concurrent change during an attempt’s record', () => {
  let deps: VaultDeps;
  let delivery: TestWebhookDelivery;
  beforeEach(async () => {
    deps = await testDeps();
    delivery = await buildWebhookDelivery(await buildSubscription('https://receiver.test/hook'));
  });
  const random = () => 0.5;
  const resend = (db = deps.db) =>
    resendDelivery({ ...deps, db }, delivery.clubId, delivery.endpoint.id, delivery.id, new Date());
  const outcomes = async () =>
    (await attemptRows(delivery.id)).map(({ number, trigger, outcome }) => ({ number, trigger, outcome }));

  describe('a 2xx answer during a disable of the endpoint', () => {
    for (const endpoint of ['healthy', 'failing'] as const) {
      it(`waits, and then ends the delivery as succeeded (${endpoint} endpoint)`, async () => {
        if (endpoint === 'failing') {
          await alter('webhook_endpoints', delivery.endpoint.id, {
            consecutive_failures: 1,
            failing_since: new Date(),
          });
        }
        const claim = await claimed(delivery);
        let record: Promise<boolean> | undefined;
        await withOpenTransaction(
          (tx) => {
            const disabling = { ...deps, db: databaseOf(tx) };
            return disableEndpoint(disabling, delivery.clubId, delivery.endpoint.id, new Date());
          },
          async () => {
            record = createSuccessWriter(deps.db)(delivery.id, claim, accepted, new Date());
            await untilWaitingForLocks(1);
          },
        );
        expect(await record).to.equal(true);
        expect(await deliveryRow(delivery.id)).to.include({ status: 'succeeded', attemptCount: 1, cancelReason: null });
        expect(await endpointRow(delivery.endpoint.id)).to.include({ status: 'disabled', consecutiveFailures: 0 });
      });
    }
  });

  it('leaves the delivery canceled if the student is removed before a 2xx answer', async () => {
    const claim = await claimed(delivery);
    let record: Promise<boolean> | undefined;
    const answer: AttemptAnswer = { ...accepted, responseExcerpt: 'Stella Student was told' };
    await withOpenTransaction(
      (tx) => removeStudent(depsOn(databaseOf(tx)), delivery.clubId, delivery.studentId, new Date()),
      async () => {
        record = createSuccessWriter(deps.db)(delivery.id, claim, answer, new Date());
        await untilWaitingForLocks(1);
      },
    );
    expect(await record).to.equal(false);
    expect(await deliveryRow(delivery.id)).to.include({ status: 'canceled', cancelReason: 'student_removed' });
    expect((await attemptRows(delivery.id))[0]).to.include({ outcome: 'succeeded', responseExcerpt: null });
  });

  describe('a failure of a delivery that is already parked', () => {
    const recordWhileParked = async () => {
      const claim = await claimed(delivery);
      await endLease(delivery.id);
      await alter('webhook_endpoints', delivery.endpoint.id, { status: 'paused' });
      expect(await stepOf(delivery, refused)).to.deep.include({ posted: 0 });
      expect((await deliveryRow(delivery.id)).parkedAt).not.to.equal(null);
      await recordFailure({ ...deps, random }, delivery.id, claim, refused, new Date());
      return deliveryRow(delivery.id);
    };

    it('ends the delivery as failed if the schedule has no further attempt', async () => {
      await alter('webhook_deliveries', delivery.id, { attempt_count: 7, schedule_position: 7 });
      expect(await recordWhileParked()).to.include({ status: 'failed', attemptCount: 8, parkedAt: null });
    });

    it('leaves the delivery parked if the schedule has a further attempt', async () => {
      const row = await recordWhileParked();
      expect(row).to.include({ status: 'pending', attemptCount: 1 });
      expect(row.parkedAt).not.to.equal(null);
    });
  });

  describe('a resend during the eighth attempt, which fails', () => {
    beforeEach('let seven attempts fail', () =>
      alter('webhook_deliveries', delivery.id, { attempt_count: 7, schedule_position: 7 }),
    );
    const expectOneMore = async () => {
      expect(await deliveryRow(delivery.id)).to.include({ status: 'failed', schedulePosition: 8, attemptCount: 8 });
      expect(await stepOf(delivery, refused)).to.deep.equal({ step: { done: true, outcome: 'failed' }, posted: 1 });
      expect(await stepOf(delivery, refused)).to.deep.equal({ step: { done: true, outcome: 'failed' }, posted: 0 });
      expect(await outcomes()).to.deep.equal([
        { number: 8, trigger: 'schedule', outcome: 'http_error' },
        { number: 9, trigger: 'manual', outcome: 'http_error' },
      ]);
      expect(await deliveryRow(delivery.id)).to.include({ status: 'failed', schedulePosition: 8 });
    };

    it('causes one manual attempt after the delivery has failed (the resend begins first)', async () => {
      const claim = await claimed(delivery);
      let record: Promise<unknown> | undefined;
      await withOpenTransaction(
        (tx) => resend(databaseOf(tx)),
        async () => {
          record = recordFailure({ ...deps, random }, delivery.id, claim, refused, new Date());
          await untilWaitingForLocks(1);
        },
      );
      await record;
      await expectOneMore();
    });

    it('causes one manual attempt after the delivery has failed (the failure begins first)', async () => {
      const claim = await claimed(delivery);
      let request: ReturnType<typeof resend> | undefined;
      await withOpenTransaction(
        (tx) => recordFailure({ ...deps, random, db: databaseOf(tx) }, delivery.id, claim, refused, new Date()),
        async () => {
          request = resend();
          await untilWaitingForLocks(1);
        },
      );
      expect(await request).to.include({ status: 'failed', attempt_count: 8 });
      await expectOneMore();
    });

    it('keeps the workflow running until the manual attempt is made', async () => {
      const depsWithResend = await answering(async () => {
        await resend();
        return refused;
      });
      expect(await attemptDelivery(depsWithResend, delivery.id, Date.now())).to.include({ done: false });
      await expectOneMore();
    });
  });

  describe('a resend during a successful attempt', () => {
    it('causes one further attempt if it commits before the success is recorded', async () => {
      const claim = await claimed(delivery);
      await resend();
      expect(await createSuccessWriter(deps.db)(delivery.id, claim, accepted, new Date())).to.equal(true);
      expect(await stepOf(delivery, refused)).to.deep.equal({ step: { done: true, outcome: 'succeeded' }, posted: 1 });
      expect(await stepOf(delivery)).to.deep.equal({ step: { done: true, outcome: 'succeeded' }, posted: 0 });
      expect(await outcomes()).to.deep.equal([
        { number: 1, trigger: 'schedule', outcome: 'succeeded' },
        { number: 2, trigger: 'manual', outcome: 'http_error' },
      ]);
    });

    it('causes one further attempt if it commits after the success is recorded', async () => {
      const claim = await claimed(delivery);
      let record: Promise<boolean> | undefined;
      await withOpenTransaction(
        (tx) => resend(databaseOf(tx)),
        async () => {
          record = createSuccessWriter(deps.db)(delivery.id, claim, accepted, new Date());
          await untilWaitingForLocks(1);
        },
      );
      expect(await record).to.equal(true);
      expect((await stepOf(delivery)).posted).to.equal(1);
    });
  });

  it('makes a resend during a failed attempt due immediately', async () => {
    const now = Date.now();
    const claim = await claimed(delivery, now);
    await resend();
    await recordFailure({ ...deps, random }, delivery.id, claim, refused, new Date(now));
    const row = await deliveryRow(delivery.id);
    expect(row).to.include({ status: 'pending', requested: 'manual', schedulePosition: 1 });
    expect(row.nextAttemptAt.getTime()).to.be.at.most(Date.now());
  });

  describe('a lost claim', () => {
    it('counts no failure of the endpoint', async () => {
      const lostClaim = await claimed(delivery);
      await endLease(delivery.id);
      const current = await claimed(delivery);
      let late: Promise<unknown> | undefined;
      await withOpenTransaction(
        (tx) => recordFailure({ ...deps, random, db: databaseOf(tx) }, delivery.id, current, refused, new Date()),
        async () => {
          late = recordFailure({ ...deps, random }, delivery.id, lostClaim, refused, new Date());
          await untilWaitingForLocks(1);
        },
      );
      await late;
      expect(await endpointRow(delivery.endpoint.id)).to.include({ consecutiveFailures: 1 });
      expect(await deliveryRow(delivery.id)).to.include({ attemptCount: 1, schedulePosition: 1 });
    });
  });

  describe('a record during a short outage of Postgres', () => {
    /** After the POST, call number `call` to Postgres fails as the callback says. */
    const stepThrough = async (answer: AttemptAnswer, fails: (call: number) => 'before' | 'after' | undefined) => {
      let posted = 0;
      let calls = 0;
      const db = unreliable(deps.db, () => (posted > 0 ? fails(++calls) : undefined));
      const post = async () => {
        posted++;
        return answer;
      };
      const step = await attemptDelivery(await answering(post, { db }), delivery.id, Date.now());
      return { step, posted };
    };
    const twice = (call: number) => (call <= 2 ? 'before' : undefined);
    const thenLost = (call: number) => (call === 1 ? 'after' : undefined);

    it('is written once for a success, without a second request', async () => {
      const { step, posted } = await stepThrough(accepted, twice);
      expect({ step, posted }).to.deep.equal({ step: { done: true, outcome: 'succeeded' }, posted: 1 });
      expect(await deliveryRow(delivery.id)).to.include({ attemptCount: 1, fence: 1, leaseUntil: null });
    });

    it('is written once for a failure, without a second request', async () => {
      const { step, posted } = await stepThrough(refused, twice);
      expect(posted).to.equal(1);
      expect(step).to.include({ done: false, waitingFor: 'attempt', attempt: 2 });
      expect(await deliveryRow(delivery.id)).to.include({ attemptCount: 1, fence: 1, leaseUntil: null });
      expect(await endpointRow(delivery.endpoint.id)).to.include({ consecutiveFailures: 1 });
    });

    it('is tried again after 100 ms, and then after 400 ms', async () => {
      const tries: number[] = [];
      await stepThrough(accepted, (call) => {
        tries.push(performance.now());
        return twice(call);
      });
      const waits = tries.slice(1).map((at, index) => at - (tries[index] ?? 0));
      expect(waits).to.have.length(2);
      expect(waits[0]).to.be.at.least(99); // a timer may end a millisecond early
      expect(waits[1]).to.be.at.least(399);
    });

    it('is counted once as a success if the connection is lost after the commit', async () => {
      const { step, posted } = await stepThrough(accepted, thenLost);
      expect({ step, posted }).to.deep.equal({ step: { done: true, outcome: 'succeeded' }, posted: 1 });
      expect(await deliveryRow(delivery.id)).to.include({ attemptCount: 1, schedulePosition: 1 });
    });

    it('is counted once as a failure if the connection is lost after the commit', async () => {
      const { step, posted } = await stepThrough(refused, thenLost);
      expect(posted).to.equal(1);
      expect(step).to.include({ done: false, waitingFor: 'attempt', attempt: 2 });
      expect(await deliveryRow(delivery.id)).to.include({ attemptCount: 1, schedulePosition: 1 });
      expect(await endpointRow(delivery.endpoint.id)).to.include({ consecutiveFailures: 1 });
    });
  });

  describe('a slow attempt', () => {
    const pass = useStoppedClock();
    /** `beforeRecord` runs before each statement after the answer. */
    const stepTaking = async (
      tookMs: number,
      answer: AttemptAnswer,
      beforeRecord: () => 'before' | undefined = () => undefined,
      changes: Partial<DeliveryDeps> = {},
    ) => {
      let isPosted = false;
      const post = async () => {
        pass(tookMs);
        isPosted = true;
        return answer;
      };
      const db = unreliable(deps.db, () => (isPosted ? beforeRecord() : undefined));
      return attemptDelivery(await answering(post, { db, ...changes }), delivery.id, Date.now());
    };
    const outcomesOnly = async () => (await outcomes()).map(({ outcome }) => outcome);

    it('ends its delivery at the time of the answer', async () => {
      const startedAt = Date.now();
      await stepTaking(1_500, accepted);
      expect((await deliveryRow(delivery.id)).completedAt?.getTime()).to.equal(startedAt + 1_500);
    });

    it('delays the next attempt by the duration of the slow attempt', async () => {
      const at = Date.now() + 1_500 + 5_000;
      expect(await stepTaking(1_500, refused)).to.deep.equal({ done: false, waitingFor: 'attempt', attempt: 2, at });
    });

    it('cancels its delivery as expired if it fails after the 30 days', async () => {
      const post = async () => {
        pass(1);
        return refused;
      };
      const expiresAt = (await deliveryRow(delivery.id)).createdAt.getTime() + 30 * 86_400_000;
      expect(await attemptDelivery(await answering(post), delivery.id, expiresAt - 1)).to.deep.equal({
        done: true,
        outcome: 'canceled',
      });
      expect(await deliveryRow(delivery.id)).to.include({ cancelReason: 'expired', attemptCount: 1 });
    });

    it('is followed immediately by a resend that was requested during the attempt', async () => {
      const startedAt = Date.now();
      const step = await stepTaking(1_500, refused, undefined, { failpoint: async () => void (await resend()) });
      expect(step).to.include({ done: false, waitingFor: 'attempt', at: startedAt + 1_500 });
    });

    it('records a success with one statement (ENG-18)', async () => {
      const reportedMs: number[] = [];
      let statements = 0;
      const takes40ms = () => {
        statements++;
        pass(40);
        return undefined;
      };
      const permits = { ...fakePermits, reportRecord: (tookMs: number) => reportedMs.push(tookMs) };
      expect(await stepTaking(1_500, accepted, takes40ms, { permits })).to.deep.equal({
        done: true,
        outcome: 'succeeded',
      });
      expect({ statements, reportedMs }).to.deep.equal({ statements: 1, reportedMs: [40] });
    });

    for (const { tookMs, recorded } of [
      { tookMs: 22_999, recorded: true },
      { tookMs: 23_000, recorded: false },
    ]) {
      it(`${recorded ? 'is' : 'is not'} recorded in a second try if ${tookMs} ms of its lease of 25 s have passed`, async () => {
        let tries = 0;
        const step = stepTaking(tookMs, accepted, () => (++tries === 1 ? 'before' : undefined));
        const outcome = await step.then(
          ({ done }) => done,
          (error: Error) => error.message,
        );
        expect(outcome).to.equal(recorded ? true : 'Connection terminated unexpectedly');
        expect(tries).to.equal(recorded ? 2 : 1);
        expect(await outcomesOnly()).to.deep.equal([recorded ? 'succeeded' : null]);
      });
    }
  });
});
