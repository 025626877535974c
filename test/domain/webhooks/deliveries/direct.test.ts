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
  beforeEach('one is in flight, and no other test’s', async () => {
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
  /** Its transactions are cut off right before their commits. */
  const cutOff = () => watching(deps.db, () => Promise.reject(new Error('cut off')));
  const expectNothing = async (act: () => Promise<unknown>) => {
    const before = await everything();
    expect(await wakes(() => act().catch((error: Error) => expect(error.message).to.equal('cut off')))).to.deep.equal(
      [],
    );
    expect(await everything()).to.deep.equal(before);
  };
  /** Takes two claims of bulk to their end, of which the second is asked for meanwhile. */
  const expectPriorities = async (end: (id: Id, its: Claim) => Promise<unknown>) => {
    for (const asked of [false, true]) {
      const one = await buildSubscription(url);
      const ofBulk = await claimedDirectly(one, now, bulk);
      if (asked) await resendDelivery(deps, one.clubId, one.endpoint.id, ofBulk.delivery.id, new Date(now));
      await deps.db.run(sql`DELETE FROM wakes WHERE club_id = ${one.clubId}`);
      await end(ofBulk.delivery.id, ofBulk.claim);
      expect((await wakesOf(one.clubId)).map(({ priority }) => priority)).to.deep.equal([asked ? 1 : bulk]);
    }
  };
  const whole = { id: null, eventId: null, endpointId: null, clubId: null, studentId: null, deliveryId: null };

  describe('a claim that is given back', () => {
    const giveBack = (db = deps.db, given = claim) =>
      returnClaim(db, { id: delivery.id, claim: given, claimedAt: performance.now() }, new Date(now));

    it('leaves no attempt and no lease, and wakes a run', async () => {
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

    it('wakes the run as bulk where its fact is, unless a resend was asked for (ENG-15)', () =>
      expectPriorities((id, its) =>
        returnClaim(deps.db, { id, claim: its, claimedAt: performance.now() }, new Date(now)),
      ));

    it('is made by the run as attempt 1, at once', async () => {
      await giveBack();
      expect(await stepOf(delivery, accepted, now)).to.deep.equal({
        step: { done: true, outcome: 'succeeded' },
        posted: 1,
      });
      expect(await attempts()).to.deep.equal([{ number: 1, fence: 2, outcome: 'succeeded' }]);
    });

    it('leaves the attempts of others to the same endpoint', async () => {
      const other = await claimedDirectly(subscription, now);
      await giveBack();
      expect(await attempts(other.delivery)).to.deep.equal([{ number: 1, fence: 1, outcome: null }]);
      expect(await isDirect(other.delivery)).to.equal(true);
    });

    it('changes nothing where a run has claimed the delivery since', async () => {
      await endLease(delivery.id);
      await claimed(delivery, now);
      await expectNothing(giveBack);
    });

    it('changes nothing where the attempt was recorded', async () => {
      await recordFailure({ ...deps, random: () => 0.5 }, delivery.id, claim, refused, new Date(now));
      await expectNothing(giveBack);
    });

    it('is given back in one transaction: nothing is left of one that is cut off', () =>
      expectNothing(() => giveBack(cutOff())));

    for (const { what, end } of [
      { what: 'the endpoint was disabled', end: disable },
      { what: 'the student was removed', end: remove },
    ]) {
      it(`wakes nobody where ${what}`, async () => {
        await end();
        expect(await wakes(giveBack)).to.deep.equal([]);
        expect(await deliveryRow(delivery.id)).to.include({ status: 'canceled', direct: false, leaseUntil: null });
        expect(await attempts()).to.deep.equal([]);
      });
    }

    it('wakes a run for a resend, though the delivery was canceled', async () => {
      await disable();
      await enable();
      await resend();
      expect(await wakes(giveBack)).to.deep.equal([deliveryRun(delivery)]);
      expect(await deliveryRow(delivery.id)).to.include({ status: 'canceled', requested: 'manual', direct: false });
    });
  });

  describe('one that is not recorded within its lease', () => {
    const handOver = (db = deps.db) => handOverLost(db, new Date(now));
    const lost = async () => {
      await endLease(delivery.id);
      return everything();
    };

    it('is handed over: the mark goes, the rest stays, and a run is woken', async () => {
      const before = await lost();
      let count: number | undefined;
      const woken = await wakes(async () => (count = await handOver()));
      expect({ count, woken }).to.deep.equal({ count: 1, woken: [deliveryRun(delivery)] });
      expect(await everything()).to.deep.equal(
        changed(before, { delivery: changed(before.delivery, { direct: false }) }),
      );
      expect((await wakesOf(subscription.clubId))[0]).to.include({ priority: 1 });
      expect(await handOver()).to.equal(0);
    });

    it('is marked interrupted by the claim of the run, which makes number 1 again', async () => {
      await lost();
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

    it('is still recorded when the answer comes before the run has claimed it', async () => {
      await lost();
      await handOver();
      expect(await createSuccessWriter(deps.db)(delivery.id, claim, accepted, new Date(now))).to.equal(true);
      expect(await stepOf(delivery)).to.deep.equal({ step: { done: true, outcome: 'succeeded' }, posted: 0 });
    });

    it('stays where its lease lives, or where a run has claimed it', async () => {
      const ofRun = await buildWebhookDelivery(subscription, new Date(now));
      await claimed(ofRun, now);
      await endLease(ofRun.id);
      const asked = await claimedDirectly(subscription, now);
      await endLease(asked.delivery.id);
      await claimed(asked.delivery, now);
      await endLease(asked.delivery.id);
      expect(await isDirect(asked.delivery)).to.equal(false);
      expect(await wakes(async () => expect(await handOver()).to.equal(0))).to.deep.equal([]);
      expect(await isDirect()).to.equal(true);
    });

    it('is handed over in one transaction with the wake: nothing is left of one that is cut off', async () => {
      await lost();
      await expectNothing(() => handOver(cutOff()));
      expect(await handOver()).to.equal(1);
    });

    for (const { what, end } of [
      { what: 'the endpoint was disabled', end: disable },
      { what: 'the student was removed', end: remove },
    ]) {
      it(`wakes nobody where ${what}`, async () => {
        await end();
        await lost();
        expect(await wakes(async () => expect(await handOver()).to.equal(1))).to.deep.equal([]);
        expect(await deliveryRow(delivery.id)).to.include({ status: 'canceled', direct: false });
      });
    }

    it('wakes a run for a resend, though the delivery was canceled', async () => {
      await disable();
      await enable();
      await resend();
      await lost();
      expect(await wakes(handOver)).to.deep.equal([deliveryRun(delivery)]);
    });

    it('is passed over while another relay hands it over, or anybody else holds it', async () => {
      const other = await claimedDirectly(subscription, now);
      await lost();
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

    it('goes with 255 others at most: the rest go with the next ones', async () => {
      await lost();
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

  describe('the record of one that fails', () => {
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
      it(`wakes a run for attempt 2, whose time and rows are those of the other lane (${what})`, async () => {
        const ofRun = await buildWebhookDelivery(await buildSubscription(url), new Date(now));
        const claimOfRun = await claimed(ofRun, now);
        const random = () => 0.25;
        const step = { done: false, waitingFor: 'attempt', at: now + waitMs, attempt: 2 };
        const byRun = await wakesBy(ofRun.clubId, async () =>
          expect(await recordFailure({ ...deps, random }, ofRun.id, claimOfRun, answer, new Date(now))).to.deep.equal(
            step,
          ),
        );
        expect(byRun).to.deep.equal([]);
        const woken = await wakes(async () => expect(await fails(answer)).to.deep.equal(step));
        expect(woken).to.deep.equal([deliveryRun(delivery)]);

        const [left, leftByRun] = [await everything(), await everything(ofRun)];
        expect(left.delivery).to.include({ direct: false, leaseUntil: null, attemptCount: 1, schedulePosition: 1 });
        expect(changed(left.delivery, whole)).to.deep.equal(changed(leftByRun.delivery, whole));
        expect(left.attempts.map((one) => changed(one, whole))).to.deep.equal(
          leftByRun.attempts.map((one) => changed(one, whole)),
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

    it('wakes the run as bulk where its fact is, unless a resend was asked for (ENG-15)', () =>
      expectPriorities((id, its) => recordFailure({ ...deps, random: () => 0.25 }, id, its, refused, new Date(now))));

    it('is one transaction: nothing is left of one that is cut off', () =>
      expectNothing(() => fails(refused, cutOff())));

    it('wakes a run for a resend that was asked for meanwhile', async () => {
      await resend();
      expect(await wakes(async () => expect(await fails()).to.equal(undefined))).to.deep.equal([deliveryRun(delivery)]);
      expect(await deliveryRow(delivery.id)).to.include({ requested: 'manual', direct: false, attemptCount: 1 });
    });

    it('wakes the run and the gate where it arms the breaker', async () => {
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
      it(`wakes nobody where ${what} meanwhile: the delivery has ended`, async () => {
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

    it('leaves the wake to the cancel where it disables the endpoint, in the turn of bulk', async () => {
      const longAgo = new Date(now - 5 * day);
      await alter('webhook_endpoints', subscription.endpoint.id, { consecutive_failures: 1, failing_since: longAgo });
      await wakes(async () => expect(await fails()).to.equal(undefined));
      const ofDeliveries = (await wakesOf(subscription.clubId)).filter(
        ({ workflowType }) => workflowType === 'webhookDelivery',
      );
      expect(ofDeliveries.map(({ subjectId, priority, raised }) => ({ subjectId, priority, raised }))).to.deep.equal([
        { subjectId: delivery.id, priority: 2, raised: false },
      ]);
      expect(await deliveryRow(delivery.id)).to.include({ status: 'canceled', direct: false, leaseUntil: null });
      expect(await endpointRow(subscription.endpoint.id)).to.include({ status: 'disabled', disabledReason: 'failing' });
    });

    it('changes nothing where a run has claimed the delivery since', async () => {
      await endLease(delivery.id);
      await claimed(delivery, now);
      await expectNothing(async () => expect(await fails()).to.equal(undefined));
    });
  });
});
