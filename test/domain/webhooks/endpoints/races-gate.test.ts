import { expect } from 'chai';
import type { VaultDeps } from '../../../../domain/deps.ts';
import { removeStudent } from '../../../../domain/students/students.ts';
import { gateRules, tendGate } from '../../../../domain/webhooks/queues/gate.ts';
import { recoverDeliveries, resendDelivery } from '../../../../domain/webhooks/deliveries/manual.ts';
import { readState } from '../../../../domain/webhooks/attempts/state.ts';
import { createSuccessWriter } from '../../../../domain/webhooks/attempts/record-success.ts';
import { recordFailure } from '../../../../domain/webhooks/attempts/record-failure.ts';
import { deliveryRow, endpointRow } from '../../../toolkit/assert/webhooks.ts';
import { buildStudent } from '../../../toolkit/builders/clubs.ts';
import { accepted, claimed, refused, stepOf } from '../../../toolkit/drive/attempts.ts';
import { testDeps, depsOn } from '../../../toolkit/stack/database.ts';
import {
  buildWebhookDelivery,
  buildSubscription,
  type Subscription,
  type TestWebhookDelivery,
} from '../../../toolkit/builders/webhooks.ts';
import { alter } from '../../../toolkit/drive/alter.ts';
import { withOpenTransaction, untilWaitingForLocks } from '../../../toolkit/drive/races.ts';
import { databaseOf } from '../../../toolkit/fakes/databases.ts';

const minute = 60_000;

describe('an endpoint’s gate during concurrent changes', () => {
  let deps: VaultDeps;
  let subscription: Subscription;
  beforeEach(async () => {
    deps = await testDeps();
    subscription = await buildSubscription('https://receiver.test/hook');
  });
  const deliveries = (count: number): Promise<TestWebhookDelivery[]> =>
    Promise.all(Array.from({ length: count }, () => buildWebhookDelivery(subscription)));
  const throttle = (holdUntil: number) =>
    alter('webhook_endpoints', subscription.endpoint.id, {
      consecutive_failures: 5,
      failing_since: new Date(holdUntil - minute),
      hold_until: new Date(holdUntil),
      breaker_step: 1,
      breaker_epoch: 1,
    });
  const countParked = async (list: readonly TestWebhookDelivery[]) =>
    (await Promise.all(list.map(({ id }) => deliveryRow(id)))).filter(({ parkedAt }) => parkedAt !== null).length;
  const random = () => 0.5;

  describe('at its end', () => {
    it('sends a delivery immediately if the gate ends while the delivery is being parked', async () => {
      const [probe, other] = (await deliveries(2)) as [TestWebhookDelivery, TestWebhookDelivery];
      const now = Date.now();
      await throttle(now + minute);
      await alter('webhook_deliveries', probe.id, { requested: 'manual' });
      const claim = await claimed(probe);
      let step: ReturnType<typeof stepOf> | undefined;
      await withOpenTransaction(
        async (tx) => {
          await createSuccessWriter(databaseOf(tx))(probe.id, claim, accepted, new Date(now));
          const gate = await tendGate({ ...deps, db: databaseOf(tx) }, subscription.endpoint.id, now);
          expect(gate).to.deep.equal({ done: true, outcome: 'open' });
        },
        async () => {
          step = stepOf(other);
          await untilWaitingForLocks(1);
        },
      );
      expect(await step).to.deep.equal({ step: { done: true, outcome: 'succeeded' }, posted: 1 });
    });

    it('waits for a delivery that is being parked, and then releases this delivery', async () => {
      const [delivery] = (await deliveries(1)) as [TestWebhookDelivery];
      const now = Date.now();
      await alter('webhook_endpoints', subscription.endpoint.id, { status: 'paused' });
      let gate: ReturnType<typeof tendGate> | undefined;
      await withOpenTransaction(
        async (tx) => {
          await readState(databaseOf(tx), delivery.id, now);
          // Changes the status without a wake, so that only the parked delivery keeps the gate open.
          await tx.manager.query(`UPDATE webhook_endpoints SET status = 'enabled' WHERE id = $1`, [
            subscription.endpoint.id,
          ]);
        },
        async () => {
          gate = tendGate(deps, subscription.endpoint.id, now);
          await untilWaitingForLocks(1);
        },
      );
      await gate;
      expect(await countParked([delivery])).to.equal(0);
      expect((await stepOf(delivery)).posted).to.equal(1);
    });
  });

  it('admits only one delivery, even if two steps of the gate run at the same time', async () => {
    const list = await deliveries(3);
    const now = Date.now();
    await throttle(now + minute);
    for (const { id } of list) await stepOf({ id });
    expect(await countParked(list)).to.equal(3);
    let second: ReturnType<typeof tendGate> | undefined;
    await withOpenTransaction(
      (tx) => tendGate({ ...deps, db: databaseOf(tx) }, subscription.endpoint.id, now + minute),
      async () => {
        second = tendGate(deps, subscription.endpoint.id, now + minute);
        await untilWaitingForLocks(1);
      },
    );
    expect(await second).to.include({ doing: 'probing' });
    expect(await countParked(list)).to.equal(2);
  });

  it('admits one delivery at a time, until the attempt of the delivery has ended', async () => {
    const list = await deliveries(3);
    const now = Date.now();
    await throttle(now);
    for (const { id } of list) await readState(deps.db, id, now);
    await tendGate(deps, subscription.endpoint.id, now);
    const { admittedDeliveryId } = await endpointRow(subscription.endpoint.id);
    await claimed({ id: admittedDeliveryId ?? '' });
    for (const later of [0, 1_000, 30_000]) await tendGate(deps, subscription.endpoint.id, now + later);
    expect(await countParked(list)).to.equal(2);
    expect(await endpointRow(subscription.endpoint.id)).to.include({ admittedDeliveryId });
  });

  it(`releases ${gateRules.recoveriesAtATime} recoveries, even after failures of earlier attempts`, async () => {
    const list = await deliveries(8);
    const now = Date.now();
    // Eight attempts are in flight when the endpoint is disabled, enabled and recovered. Four of them are last attempts.
    for (const { id } of list.slice(0, 4)) await alter('webhook_deliveries', id, { schedule_position: 7 });
    const claims = await Promise.all(list.map(async ({ id }) => ({ id, claim: await claimed({ id }) })));
    for (const { id } of list) {
      await alter('webhook_deliveries', id, { status: 'canceled', completed_at: new Date(now), in_flight: null });
    }
    const { clubId, endpoint } = subscription;
    expect(await recoverDeliveries(deps, clubId, endpoint.id, new Date(now), new Date(now))).to.deep.equal({
      recovered: 8,
    });
    await tendGate(deps, endpoint.id, now);
    expect(await countParked(list)).to.equal(4);
    for (const { id, claim } of claims) {
      await recordFailure({ ...deps, random }, id, claim, refused, new Date(now));
    }
    await alter('webhook_endpoints', endpoint.id, { breaker_step: 0, hold_until: null, consecutive_failures: 0 });
    await tendGate(deps, endpoint.id, now + 1_000);
    expect(await countParked(list)).to.equal(4);
    // The earlier attempt's failure did not fail the delivery, which still has its recovery attempt.
    for (const { id } of list) {
      const row = await deliveryRow(id);
      expect(row, id).to.include({ status: 'pending', requested: 'recovery', attemptCount: 1 });
      expect(row.nextAttemptAt.getTime(), id).to.equal(now);
    }
  });

  describe('during the removal of a student', () => {
    it('skips deliveries that the uncommitted removal cancels', async () => {
      const [delivery] = (await deliveries(1)) as [TestWebhookDelivery];
      const others = { ...subscription, studentId: (await buildStudent(subscription.clubId)).id };
      const other = await buildWebhookDelivery(others);
      const now = Date.now();
      await alter('webhook_endpoints', subscription.endpoint.id, { status: 'paused' });
      for (const { id } of [delivery, other]) await readState(deps.db, id, now);
      await alter('webhook_endpoints', subscription.endpoint.id, { status: 'enabled' });
      await withOpenTransaction(
        (tx) => removeStudent(depsOn(databaseOf(tx)), subscription.clubId, subscription.studentId, new Date(now)),
        async () => {
          await tendGate(deps, subscription.endpoint.id, now);
          expect(await countParked([other])).to.equal(0);
        },
      );
      expect(await deliveryRow(delivery.id)).to.include({ status: 'canceled', parkedAt: null });
      expect(await stepOf(delivery)).to.deep.equal({ step: { done: true, outcome: 'canceled' }, posted: 0 });
    });

    it('makes the removal wait for an uncommitted release', async () => {
      const [delivery] = (await deliveries(1)) as [TestWebhookDelivery];
      const now = Date.now();
      await alter('webhook_endpoints', subscription.endpoint.id, { status: 'paused' });
      await readState(deps.db, delivery.id, now);
      await alter('webhook_endpoints', subscription.endpoint.id, { status: 'enabled' });
      let removal: Promise<void> | undefined;
      await withOpenTransaction(
        (tx) => tendGate({ ...deps, db: databaseOf(tx) }, subscription.endpoint.id, now),
        async () => {
          removal = removeStudent(deps, subscription.clubId, subscription.studentId, new Date(now));
          await untilWaitingForLocks(1);
        },
      );
      await removal;
      expect(await stepOf(delivery)).to.deep.equal({ step: { done: true, outcome: 'canceled' }, posted: 0 });
      expect(await deliveryRow(delivery.id)).to.include({ cancelReason: 'student_removed' });
    });
  });

  describe('after the breaker opens', () => {
    it('does not open the breaker again if an older attempt fails', async () => {
      const [fifth, other, third] = (await deliveries(3)) as [
        TestWebhookDelivery,
        TestWebhookDelivery,
        TestWebhookDelivery,
      ];
      const now = Date.now();
      await alter('webhook_endpoints', subscription.endpoint.id, {
        consecutive_failures: 4,
        failing_since: new Date(now),
      });
      const claim = await claimed(fifth);
      let early: Awaited<ReturnType<typeof claimed>> | undefined;
      await withOpenTransaction(
        (tx) => recordFailure({ ...deps, random, db: databaseOf(tx) }, fifth.id, claim, refused, new Date(now)),
        async () => {
          early = await claimed(other);
        },
      );
      expect(await endpointRow(subscription.endpoint.id)).to.include({ breakerStep: 1, consecutiveFailures: 5 });
      if (early) await recordFailure({ ...deps, random }, other.id, early, refused, new Date(now));
      const armed = await endpointRow(subscription.endpoint.id);
      expect(armed).to.include({ breakerStep: 1, consecutiveFailures: 6 });
      expect(armed.holdUntil?.getTime()).to.equal(now + minute);
      // A later delivery waits for the gate.
      expect(await stepOf(third)).to.deep.include({ posted: 0 });
      expect(await countParked([third])).to.equal(1);
    });
  });

  it('admits no other delivery while the removed student’s attempt is in flight', async () => {
    const [admitted] = (await deliveries(1)) as [TestWebhookDelivery];
    const now = Date.now();
    await throttle(now);
    await readState(deps.db, admitted.id, now);
    await tendGate(deps, subscription.endpoint.id, now);
    const claim = await claimed(admitted);
    const studentId = (await buildStudent(subscription.clubId)).id;
    const next = await buildWebhookDelivery({ ...subscription, studentId });
    await readState(deps.db, next.id, Date.now());
    await removeStudent(deps, subscription.clubId, subscription.studentId, new Date(now));

    expect(await tendGate(deps, subscription.endpoint.id, now)).to.include({ doing: 'probing' });
    expect(await countParked([next])).to.equal(1);
    await createSuccessWriter(deps.db)(admitted.id, claim, accepted, new Date(now));
    await tendGate(deps, subscription.endpoint.id, now);
    expect(await countParked([next])).to.equal(0);
  });

  it('holds the admitted delivery again if a manual attempt fails first', async () => {
    const [admitted, byHand] = (await deliveries(2)) as [TestWebhookDelivery, TestWebhookDelivery];
    const now = Date.now();
    await throttle(now);
    await readState(deps.db, admitted.id, now);
    await tendGate(deps, subscription.endpoint.id, now);
    expect(await endpointRow(subscription.endpoint.id)).to.include({ admittedDeliveryId: admitted.id });
    await alter('webhook_deliveries', byHand.id, { requested: 'manual' });
    await recordFailure({ ...deps, random }, byHand.id, await claimed(byHand), refused, new Date(now));

    expect(await stepOf(admitted)).to.deep.include({ posted: 0 });
    const step = await tendGate(deps, subscription.endpoint.id, now + 2 * minute - 1);
    expect(step).to.include({ doing: 'holding', at: now + 2 * minute, parked: 1 });
    await tendGate(deps, subscription.endpoint.id, now + 2 * minute);
    expect((await stepOf(admitted, accepted, now + 2 * minute)).posted).to.equal(1);
  });

  it('doubles the hold only once after forty concurrent failures', async () => {
    const list = await deliveries(40);
    const now = Date.now();
    await throttle(now);
    for (const { id } of list) await alter('webhook_deliveries', id, { requested: 'manual' });
    const claims = await Promise.all(list.map(async ({ id }) => ({ id, claim: await claimed({ id }) })));
    await Promise.all(
      claims.map(({ id, claim }) => recordFailure({ ...deps, random }, id, claim, refused, new Date(now))),
    );
    const row = await endpointRow(subscription.endpoint.id);
    expect(row).to.include({ consecutiveFailures: 45, breakerStep: 2 });
    expect(row.holdUntil?.getTime()).to.equal(now + 2 * minute);
  });

  it('lets a resend skip the breaker after an interrupted scheduled attempt (DEL-5)', async () => {
    const [delivery] = (await deliveries(1)) as [TestWebhookDelivery];
    const now = Date.now();
    await claimed(delivery);
    await alter('webhook_deliveries', delivery.id, { lease_until: new Date(now - minute) });
    await throttle(now + minute);
    await stepOf(delivery);
    expect(await countParked([delivery])).to.equal(1);
    await resendDelivery(deps, subscription.clubId, subscription.endpoint.id, delivery.id, new Date(now));
    expect(await stepOf(delivery)).to.deep.equal({ step: { done: true, outcome: 'succeeded' }, posted: 1 });
    expect(await endpointRow(subscription.endpoint.id)).to.include({ consecutiveFailures: 0, breakerStep: 0 });
  });
});
