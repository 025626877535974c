import { Queries } from '../../platform/infra/postgres/database.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { WorkflowNotFoundError } from '@temporalio/client';
import { expect } from 'chai';
import { findEndpoint } from '../../domain/webhooks/endpoints/endpoints.ts';
import { summariesOf } from '../toolkit/assert/histories.ts';
import { deliveryRow, endpointRow } from '../toolkit/assert/webhooks.ts';
import { until } from '../toolkit/drive/until.ts';
import { attemptsAt, endOf, useSkippedEngine } from '../toolkit/stack/skipped-engine.ts';
import { testDatabase } from '../toolkit/stack/database.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** The longest time from the end of a timer to the attempt. */
const engineMs = 2 * second;
const closed = { consecutiveFailures: 0, failingSince: null, holdUntil: null, breakerStep: 0 };

describe('the circuit breaker over time', function () {
  this.timeout(60_000);
  const engine = useSkippedEngine();

  it('doubles its hold from 1 min up to 1 h until a 2xx response', async () => {
    const holds = [1, 2, 4, 8, 16, 32, 60, 60, 60, 60].map((minutes) => minutes * minute);
    const begin = 10;
    const failures = begin + holds.length - 1;
    const probeStates: { holdUntil: Date | null; atATime: number }[] = [];
    let open = 0;
    const { subscription } = await engine().endpoint(async (_, number) => {
      open++;
      engine().random = number % 2 === 0 ? 0.99 : 0; // the deliveries become due in a different order than they were created
      if (number > begin) await sleep(30);
      probeStates.push({ holdUntil: (await endpointRow(subscription.endpoint.id)).holdUntil, atATime: open });
      open--;
      return { status: number <= failures ? 500 : 200 };
    });
    const deliveries = await engine().deliverAll(subscription, begin);
    await engine().pass(10 * second);
    // On a busy machine the server could skip time before all deliveries are parked.
    await until('all are parked', { timeoutMs: 15_000 }, async () => {
      const rows = await Promise.all(deliveries.map(({ id }) => deliveryRow(id)));
      return rows.every(({ parkedAt }) => parkedAt !== null);
    });
    const due = new Map(
      await Promise.all(
        deliveries.map(async ({ id }) => [id, (await deliveryRow(id)).nextAttemptAt.getTime()] as const),
      ),
    );
    expect(await engine().outcomesOf(deliveries)).to.deep.equal(deliveries.map(() => 'succeeded'));
    expect(await engine().gateOf(subscription).result()).to.equal('open');

    const attempts = await attemptsAt(subscription.endpoint.id);
    expect(attempts).to.have.length(failures + begin);
    const probes = attempts.slice(begin, failures + 1);
    const byDue = deliveries.map(({ id }) => id).toSorted((a, b) => (due.get(a) ?? 0) - (due.get(b) ?? 0));
    expect(probes.map(({ deliveryId }) => deliveryId)).to.deep.equal(byDue);
    for (const [index, probe] of probes.entries()) {
      const { holdUntil, atATime } = probeStates[begin + index] ?? {};
      expect(atATime, `permitted attempts at a time for probe ${index + 1}`).to.equal(1);
      const end = holdUntil?.getTime() ?? Number.NaN;
      expect(probe.startedAt.getTime() - end, `probe ${index + 1} after its hold`).to.be.within(0, engineMs);
      const armedBy = attempts[begin + index - 1];
      if (index > 0 && armedBy) {
        expect(end - endOf(armedBy), `hold ${index + 1}`).to.be.within(
          (holds[index] ?? 0) - 5,
          (holds[index] ?? 0) + 500,
        );
      }
    }
    const fifth =
      attempts
        .slice(0, begin)
        .map(endOf)
        .toSorted((a, b) => a - b)[4] ?? Number.NaN;
    expect((probeStates[begin]?.holdUntil?.getTime() ?? 0) - fifth, 'hold 1').to.be.within(
      minute - second,
      minute + second,
    );
    expect(await endpointRow(subscription.endpoint.id)).to.deep.include(closed);
  });

  describe('the throttling after 5 failures in a row', () => {
    it('does not begin if a success follows every 4 failures', async () => {
      const steps: number[] = [];
      const { subscription } = await engine().endpoint(async (_, number) => {
        steps.push((await endpointRow(subscription.endpoint.id)).breakerStep);
        return { status: number % 5 === 0 ? 204 : 500 };
      });
      for (let round = 0; round < 2; round++) {
        const delivery = await engine().deliver(subscription);
        expect(await engine().runOf(delivery).result(), `turn ${round}`).to.equal('succeeded');
      }
      expect(steps).to.deep.equal(Array.from({ length: 10 }, () => 0));
      expect(await endpointRow(subscription.endpoint.id)).to.deep.include(closed);
      expect(
        await engine()
          .gateOf(subscription)
          .describe()
          .catch((error: unknown) => error),
      ).to.be.instanceOf(WorkflowNotFoundError);
    });

    it('begins with the fifth failure', async () => {
      const { receiver, subscription } = await engine().endpoint((_, number) =>
        number <= 5 ? { status: 500 } : { status: 200, delayMs: 300 },
      );
      const { clubId, endpoint } = subscription;
      const delivery = await engine().deliver(subscription);
      await engine().pass(2 * hour + 36 * minute);
      await until('the fifth', { timeoutMs: 5_000 }, async () => (await deliveryRow(delivery.id)).attemptCount === 5);
      const armed = await endpointRow(endpoint.id);
      expect(armed).to.include({ consecutiveFailures: 5, breakerStep: 1 });
      const [, , , , fifth] = await attemptsAt(endpoint.id);
      const hold = armed.holdUntil?.getTime() ?? Number.NaN;
      expect(hold - (fifth ? endOf(fifth) : 0)).to.be.within(minute - 5, minute + 500);

      const { manager } = await testDatabase();
      const shownAt = async (at: number) =>
        (await findEndpoint(new Queries(manager), clubId, endpoint.id, new Date(at))).hold_until;
      expect(await shownAt(hold - 1)).to.equal(new Date(hold).toISOString());
      expect(await shownAt(hold)).to.equal(undefined);

      await engine().pass(4 * hour);
      expect(await endpointRow(endpoint.id)).to.deep.include({ breakerStep: 1, holdUntil: armed.holdUntil });
      expect(receiver.requests).to.have.length(5);
      expect(await engine().runOf(delivery).result()).to.equal('succeeded');
      expect(await engine().gateOf(subscription).result()).to.equal('open');
      expect(receiver.requests).to.have.length(6);
      const { timers } = await summariesOf(engine().gateOf(subscription));
      // The text names the rest of the hold of one minute.
      expect(timers.map((text) => text.replace(/about (5\d|60) s/, 'about a minute'))).to.deep.equal([
        "the end of the circuit breaker's wait in about a minute; 0 parked; disabled as failing in about 5 d",
        'a delivery to try: throttled, and none is due; 0 parked; disabled as failing in about 5 d',
        'the attempt that was let through; 0 parked; disabled as failing in about 5 d',
      ]);
    });
  });

  it('moves a message that the receiver never accepts to the back of the queue', async () => {
    const poison = { id: '' };
    let broken = true;
    const { subscription } = await engine().endpoint(({ headers }) => {
      return { status: broken || headers['webhook-id'] === poison.id ? 500 : 200 };
    });
    const first = await engine().deliver(subscription);
    poison.id = first.eventId;
    await until('its failure', { timeoutMs: 5_000 }, async () => (await deliveryRow(first.id)).attemptCount === 1);
    const good = await engine().deliverAll(subscription, 4);
    expect(await endpointRow(subscription.endpoint.id)).to.include({ breakerStep: 1, consecutiveFailures: 5 });
    await engine().pass(20 * second); // The first delivery must have its second attempt before the other deliveries are due.
    good.push(...(await engine().deliverAll(subscription, 2)));
    const rows = await Promise.all(good.map(({ id }) => deliveryRow(id)));
    const [next] = rows.toSorted((one, other) => Number(one.nextAttemptAt) - Number(other.nextAttemptAt));
    broken = false;
    expect(await engine().outcomesOf(good)).to.deep.equal(good.map(() => 'succeeded'));

    const [refused, accepted, ...released] = (await attemptsAt(subscription.endpoint.id)).slice(5);
    expect(refused).to.include({ deliveryId: first.id, outcome: 'http_error' });
    expect(accepted).to.include({ deliveryId: next?.id, outcome: 'succeeded' });
    const others = released.filter(({ deliveryId }) => deliveryId !== first.id);
    expect(others.map(({ deliveryId }) => deliveryId)).to.have.members(
      good.map(({ id }) => id).filter((id) => id !== next?.id),
    );
    // A hold of one minute, a refused attempt, and a hold of two minutes.
    const [begin] = await attemptsAt(subscription.endpoint.id);
    const tookMs = Math.max(...others.map(endOf)) - (begin?.startedAt.getTime() ?? 0);
    expect(tookMs).to.be.within(3 * minute, 3 * minute + 20 * second);
    expect(await engine().runOf(first).result()).to.equal('failed');
  });
});
