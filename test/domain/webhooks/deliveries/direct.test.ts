import { expect } from 'chai';
import type { VaultDeps } from '../../../../domain/deps.ts';
import type { Id } from '../../../../platform/core/ids.ts';
import { removeStudent } from '../../../../domain/students/students.ts';
import type { Claim } from '../../../../domain/webhooks/attempts/claims.ts';
import { handOverLost, returnClaim } from '../../../../domain/webhooks/attempts/claims.ts';
import { resendDelivery } from '../../../../domain/webhooks/deliveries/manual.ts';
import type { AttemptAnswer } from '../../../../domain/webhooks/attempts/post.ts';
import { createSuccessWriter } from '../../../../domain/webhooks/attempts/record-success.ts';
import { recordFailure } from '../../../../domain/webhooks/attempts/record-failure.ts';
import { disableEndpoint, enableEndpoint } from '../../../../domain/webhooks/queues/endpoint-states.ts';
import { bulk } from '../../../../entities/facts/values.ts';
import { sql } from '../../../../platform/infra/postgres/sql.ts';
import { deliveryRun, gateRun, wakesBy, wakesOf } from '../../../toolkit/assert/wakes.ts';
import { attemptRows, deliveryRow, endpointRow } from '../../../toolkit/assert/webhooks.ts';
import {
  buildSubscription,
  buildWebhookDelivery,
  type Subscription,
  type TestWebhookDelivery,
} from '../../../toolkit/builders/webhooks.ts';
import { alter } from '../../../toolkit/drive/alter.ts';
import { accepted, claimed, claimedDirectly, refused, stepOf } from '../../../toolkit/drive/attempts.ts';
import { endLease } from '../../../toolkit/drive/deliveries.ts';
import { withOpenTransaction } from '../../../toolkit/drive/races.ts';
import { databaseOf, watching } from '../../../toolkit/fakes/databases.ts';
import { depsOn, testDeps } from '../../../toolkit/stack/database.ts';

const url = 'https://receiver.test/hook';
const second = 1_000;
const day = 86_400 * second;

const changed = (row: object | undefined, changes: object): object => Object.assign({}, row, changes);

describe('direct attempts of deliveries (HOOK-18)', () => {
  let deps: VaultDeps;
  let subscription: Subscription;
  let delivery: TestWebhookDelivery;
  let claim: Claim;
  let now: number;
  beforeEach('claim one direct delivery, and clear the column `direct` of all other deliveries', async () => {
    deps = await testDeps();
    now = Date.now();
    await deps.db.run(sql`UPDATE webhook_deliveries SET direct = false WHERE direct`);
    subscription = await buildSubscription(url);
    ({ delivery, claim } = await claimedDirectly(subscription, now));
  });

  const everything = async ({ id } = delivery) => ({
    delivery: await deliveryRow(id),
    attempts: await attemptRows(id),
  });
  const attempts = async ({ id } = delivery) =>
    (await attemptRows(id)).map(({ number, fence, outcome }) => ({ number, fence, outcome }));
  const isDirect = async ({ id } = delivery) => (await deliveryRow(id)).direct;
  const wakes = (act: () => Promise<unknown>) => wakesBy(subscription.clubId, act);
  const own = () => [deps, subscription.clubId, subscription.endpoint.id] as const;
  const resend = () => resendDelivery(...own(), delivery.id, new Date(now));
  const disable = () => disableEndpoint(...own(), new Date(now));
  const enable = () => enableEndpoint(...own(), new Date(now));
  const remove = () => removeStudent(depsOn(deps.db), subscription.clubId, subscription.studentId, new Date(now));
  /** Loses its connection just before each commit. */
  const cutOff = () => watching(deps.db, () => Promise.reject(new Error('cut off')));
  const expectNothing = async (act: () => Promise<unknown>) => {
    const before = await everything();
    expect(await wakes(() => act().catch((error: Error) => expect(error.message).to.equal('cut off')))).to.deep.equal(
      [],
    );
    expect(await everything()).to.deep.equal(before);
  };
  /** A resend is requested during the second of two claims. */
  const expectPriorities = async (end: (id: Id, its: Claim) => Promise<unknown>) => {
    for (const isResent of [false, true]) {
      const one = await buildSubscription(url);
      const bulkDelivery = await claimedDirectly(one, now, bulk);
      if (isResent) await resendDelivery(deps, one.clubId, one.endpoint.id, bulkDelivery.delivery.id, new Date(now));
      await deps.db.run(sql`DELETE FROM wakes WHERE club_id = ${one.clubId}`);
      await end(bulkDelivery.delivery.id, bulkDelivery.claim);
      expect((await wakesOf(one.clubId)).map(({ priority }) => priority)).to.deep.equal([isResent ? 1 : bulk]);
    }
  };
  const whole = { id: null, eventId: null, endpointId: null, clubId: null, studentId: null, deliveryId: null };

  describe('the return of an unused claim', () => {
    const giveBack = (db = deps.db, returnedClaim = claim) =>
      returnClaim(db, { id: delivery.id, claim: returnedClaim, claimedAt: performance.now() }, new Date(now));

    it('deletes the attempt and the lease, and wakes a run', async () => {
      const before = await everything();
      expect(await wakes(giveBack)).to.deep.equal([deliveryRun(delivery)]);
      expect(await everything()).to.deep.equal({
        delivery: changed(before.delivery, { leaseUntil: null, direct: false }),
        attempts: [],
      });
      const [wake] = await wakesOf(subscription.clubId);
      expect(wake).to.deep.include({
        workflowType: 'webhookDelivery',
        subjectId: delivery.id,
        attributes: { ClubId: subscription.clubId, EndpointId: subscription.endpoint.id, EventType: 'student.updated' },
        priority: 1,
      });
    });

    it('wakes the run with the priority bulk if the fact has it, unless a resend was requested (ENG-15)', () =>
      expectPriorities((id, its) =>
        returnClaim(deps.db, { id, claim: its, claimedAt: performance.now() }, new Date(now)),
      ));

    it('lets the run make attempt 1 immediately', async () => {
      await giveBack();
      expect(await stepOf(delivery, accepted, now)).to.deep.equal({
        step: { done: true, outcome: 'succeeded' },
        posted: 1,
      });
      expect(await attempts()).to.deep.equal([{ number: 1, fence: 2, outcome: 'succeeded' }]);
    });

    it('keeps the attempts of other deliveries to the endpoint', async () => {
      const other = await claimedDirectly(subscription, now);
      await giveBack();
      expect(await attempts(other.delivery)).to.deep.equal([{ number: 1, fence: 1, outcome: null }]);
      expect(await isDirect(other.delivery)).to.equal(true);
    });

    it('changes nothing if a run claimed the delivery in the meantime', async () => {
      await endLease(delivery.id);
      await claimed(delivery, now);
      await expectNothing(giveBack);
    });

    it('changes nothing if the attempt was recorded', async () => {
      await recordFailure({ ...deps, random: () => 0.5 }, delivery.id, claim, refused, new Date(now));
      await expectNothing(giveBack);
    });

    it('is one transaction, which leaves no change if the connection is lost', () =>
      expectNothing(() => giveBack(cutOff())));

    for (const { what, end } of [
      { what: 'the endpoint was disabled', end: disable },
      { what: 'the student was removed', end: remove },
    ]) {
      it(`wakes no run if ${what}`, async () => {
        await end();
        expect(await wakes(giveBack)).to.deep.equal([]);
        expect(await deliveryRow(delivery.id)).to.include({ status: 'canceled', direct: false, leaseUntil: null });
        expect(await attempts()).to.deep.equal([]);
      });
    }

    it('wakes a run for a resend, although the delivery was canceled', async () => {
      await disable();
      await enable();
      await resend();
      expect(await wakes(giveBack)).to.deep.equal([deliveryRun(delivery)]);
      expect(await deliveryRow(delivery.id)).to.include({ status: 'canceled', requested: 'manual', direct: false });
    });
  });

  describe('a direct attempt that was not recorded', () => {
    const handOver = (db = deps.db) => handOverLost(db, new Date(now));
    const loseClaim = async () => {
      await endLease(delivery.id);
      return everything();
    };

    it('is handed over to a run after its lease', async () => {
      const before = await loseClaim();
      let count: number | undefined;
      const woken = await wakes(async () => (count = await handOver()));
      expect({ count, woken }).to.deep.equal({ count: 1, woken: [deliveryRun(delivery)] });
      expect(await everything()).to.deep.equal(
        changed(before, { delivery: changed(before.delivery, { direct: false }) }),
      );
      expect((await wakesOf(subscription.clubId))[0]).to.include({ priority: 1 });
      expect(await handOver()).to.equal(0);
    });

    it('is marked as interrupted when the run makes attempt 1 again', async () => {
      await loseClaim();
      await handOver();
      const next = await claimed(delivery, now);
      expect(next).to.include({ fence: 2, number: 1, schedulePosition: 1, interruptions: 1, trigger: 'schedule' });
      expect(next).not.to.have.property('direct');
      expect(await attempts()).to.deep.equal([
        { number: 1, fence: 1, outcome: 'interrupted' },
        { number: 1, fence: 2, outcome: null },
      ]);
      expect(await createSuccessWriter(deps.db)(delivery.id, claim, accepted, new Date(now))).to.equal(false);
    });

    it('is still recorded if the answer comes before the run claims the delivery', async () => {
      await loseClaim();
      await handOver();
      expect(await createSuccessWriter(deps.db)(delivery.id, claim, accepted, new Date(now))).to.equal(true);
      expect(await stepOf(delivery)).to.deep.equal({ step: { done: true, outcome: 'succeeded' }, posted: 0 });
    });

    it('is not handed over before its lease ends or after a run’s claim', async () => {
      const runDelivery = await buildWebhookDelivery(subscription, new Date(now));
      await claimed(runDelivery, now);
      await endLease(runDelivery.id);
      const claimedByRun = await claimedDirectly(subscription, now);
      await endLease(claimedByRun.delivery.id);
      await claimed(claimedByRun.delivery, now);
      await endLease(claimedByRun.delivery.id);
      expect(await isDirect(claimedByRun.delivery)).to.equal(false);
      expect(await wakes(async () => expect(await handOver()).to.equal(0))).to.deep.equal([]);
      expect(await isDirect()).to.equal(true);
    });

    it('is handed over in one transaction', async () => {
      await loseClaim();
      await expectNothing(() => handOver(cutOff()));
      expect(await handOver()).to.equal(1);
    });

    for (const { what, end } of [
      { what: 'the endpoint was disabled', end: disable },
      { what: 'the student was removed', end: remove },
    ]) {
      it(`wakes no run if ${what}`, async () => {
        await end();
        await loseClaim();
        expect(await wakes(async () => expect(await handOver()).to.equal(1))).to.deep.equal([]);
        expect(await deliveryRow(delivery.id)).to.include({ status: 'canceled', direct: false });
      });
    }

    it('wakes a run for a resend, although the delivery was canceled', async () => {
      await disable();
      await enable();
      await resend();
      await loseClaim();
      expect(await wakes(handOver)).to.deep.equal([deliveryRun(delivery)]);
    });

    it('is skipped while another transaction holds the delivery', async () => {
      const other = await claimedDirectly(subscription, now);
      await loseClaim();
      await withOpenTransaction(
        async (tx) => expect(await handOver(databaseOf(tx))).to.equal(1),
        async () => {
          await endLease(other.delivery.id);
          expect(await handOver()).to.equal(1);
          expect([await isDirect(), await isDirect(other.delivery)]).to.deep.equal([true, false]);
          expect(await handOver()).to.equal(0);
        },
      );
      expect(await isDirect()).to.equal(false);
      const runs = (await wakesOf(subscription.clubId)).map(({ workflowId }) => workflowId);
      expect(runs).to.have.members([deliveryRun(delivery), deliveryRun(other.delivery)]);
    });

    it('is handed over in rounds of at most 256 attempts', async () => {
      await loseClaim();
      await deps.db.run(sql`
        WITH event AS (
          INSERT INTO webhook_events (id, club_id, type, student_id, occurred_at, created_at)
          SELECT uuidv7(), club_id, type, student_id, occurred_at, created_at
            FROM webhook_events CROSS JOIN generate_series(1, 299) WHERE id = ${delivery.eventId}
          RETURNING id)
        INSERT INTO webhook_deliveries (id, club_id, endpoint_id, event_id, event_type, student_id, next_attempt_at, created_at, fence, lease_until, direct)
        SELECT uuidv7(), club_id, endpoint_id, event.id, event_type, student_id, next_attempt_at, created_at, fence, lease_until, direct
          FROM webhook_deliveries CROSS JOIN event WHERE webhook_deliveries.id = ${delivery.id}`);
      const counts: number[] = [];
      const woken = await wakes(async () => {
        for (let round = 1; round <= 3; round++) counts.push(await handOver());
      });
      expect(counts).to.deep.equal([256, 44, 0]);
      expect(woken).to.have.length(300);
    });
  });

  describe('the record of a failed direct attempt', () => {
    const fails = (answer: AttemptAnswer = refused, db = deps.db) =>
      recordFailure({ ...deps, db, random: () => 0.25 }, delivery.id, claim, answer, new Date(now));

    for (const { what, answer, waitMs } of [
      { what: 'a refusal', answer: refused, waitMs: 4_750 },
      {
        what: 'an answer with Retry-After',
        answer: { ...refused, responseStatus: 503, retryAfterSeconds: 60 },
        waitMs: 60_000,
      },
      { what: 'silence', answer: { outcome: 'timeout' as const, durationMs: 15_000 }, waitMs: 4_750 },
    ]) {
      it(`wakes a run for attempt 2, and leaves the rows of a run’s failed attempt (${what})`, async () => {
        const runDelivery = await buildWebhookDelivery(await buildSubscription(url), new Date(now));
        const claimOfRun = await claimed(runDelivery, now);
        const random = () => 0.25;
        const step = { done: false, waitingFor: 'attempt', at: now + waitMs, attempt: 2 };
        const wakesByRun = await wakesBy(runDelivery.clubId, async () =>
          expect(
            await recordFailure({ ...deps, random }, runDelivery.id, claimOfRun, answer, new Date(now)),
          ).to.deep.equal(step),
        );
        expect(wakesByRun).to.deep.equal([]);
        const woken = await wakes(async () => expect(await fails(answer)).to.deep.equal(step));
        expect(woken).to.deep.equal([deliveryRun(delivery)]);

        const [rows, rowsByRun] = [await everything(), await everything(runDelivery)];
        expect(rows.delivery).to.include({ direct: false, leaseUntil: null, attemptCount: 1, schedulePosition: 1 });
        expect(changed(rows.delivery, whole)).to.deep.equal(changed(rowsByRun.delivery, whole));
        expect(rows.attempts.map((one) => changed(one, whole))).to.deep.equal(
          rowsByRun.attempts.map((one) => changed(one, whole)),
        );
        const { consecutiveFailures, failingSince } = await endpointRow(subscription.endpoint.id);
        expect({ consecutiveFailures, failingSince }).to.deep.equal({
          consecutiveFailures: 1,
          failingSince: new Date(now),
        });
        expect((await stepOf(delivery, accepted, now + waitMs)).posted).to.equal(1);
        expect((await attempts()).map(({ number }) => number)).to.deep.equal([1, 2]);
      });
    }

    it('wakes the run with the priority bulk if the fact has it, unless a resend was requested (ENG-15)', () =>
      expectPriorities((id, its) => recordFailure({ ...deps, random: () => 0.25 }, id, its, refused, new Date(now))));

    it('is one transaction, which leaves no change if the connection is lost', () =>
      expectNothing(() => fails(refused, cutOff())));

    it('wakes a run for a resend that was requested during the attempt', async () => {
      await resend();
      expect(await wakes(async () => expect(await fails()).to.equal(undefined))).to.deep.equal([deliveryRun(delivery)]);
      expect(await deliveryRow(delivery.id)).to.include({ requested: 'manual', direct: false, attemptCount: 1 });
    });

    it('wakes the run and the gate if the failure opens the breaker', async () => {
      await alter('webhook_endpoints', subscription.endpoint.id, {
        consecutive_failures: 4,
        failing_since: new Date(now),
      });
      expect(await wakes(() => fails())).to.deep.equal([gateRun(subscription.endpoint), deliveryRun(delivery)]);
      expect(await endpointRow(subscription.endpoint.id)).to.include({ consecutiveFailures: 5, breakerStep: 1 });
    });

    for (const { what, end } of [
      { what: 'the endpoint was disabled', end: disable },
      { what: 'the student was removed', end: remove },
    ]) {
      it(`wakes no run if ${what} during the attempt`, async () => {
        await end();
        const woken = await wakes(async () =>
          expect(await fails({ ...refused, responseExcerpt: 'Stella' })).to.deep.equal({
            done: true,
            outcome: 'canceled',
          }),
        );
        expect(woken).to.deep.equal([]);
        expect(await deliveryRow(delivery.id)).to.include({ status: 'canceled', direct: false, leaseUntil: null });
      });
    }

    it('wakes the run once, with the priority bulk, if the failure disables the endpoint', async () => {
      const longAgo = new Date(now - 5 * day);
      await alter('webhook_endpoints', subscription.endpoint.id, { consecutive_failures: 1, failing_since: longAgo });
      await wakes(async () => expect(await fails()).to.equal(undefined));
      const deliveryWakes = (await wakesOf(subscription.clubId)).filter(
        ({ workflowType }) => workflowType === 'webhookDelivery',
      );
      expect(deliveryWakes.map(({ subjectId, priority, raised }) => ({ subjectId, priority, raised }))).to.deep.equal([
        { subjectId: delivery.id, priority: 2, raised: false },
      ]);
      expect(await deliveryRow(delivery.id)).to.include({ status: 'canceled', direct: false, leaseUntil: null });
      expect(await endpointRow(subscription.endpoint.id)).to.include({ status: 'disabled', disabledReason: 'failing' });
    });

    it('changes nothing if a run claimed the delivery in the meantime', async () => {
      await endLease(delivery.id);
      await claimed(delivery, now);
      await expectNothing(async () => expect(await fails()).to.equal(undefined));
    });
  });
});
