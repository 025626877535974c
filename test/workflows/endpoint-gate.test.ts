import { expect } from 'chai';
import {
  deleteEndpoint,
  disableEndpoint,
  enableEndpoint,
  pauseEndpoint,
} from '../../domain/webhooks/queues/endpoint-states.ts';
import { callGate } from '../../domain/webhooks/deliveries/wakes.ts';
import { testDatabase } from '../toolkit/stack/database.ts';
import { summariesOf } from '../toolkit/assert/histories.ts';
import { deliveryRow, endpointRow } from '../toolkit/assert/webhooks.ts';
import { buildWebhookDelivery, type Subscription, type TestWebhookDelivery } from '../toolkit/builders/webhooks.ts';
import { alter } from '../toolkit/drive/alter.ts';
import { until } from '../toolkit/drive/until.ts';
import { attemptsAt, uncached, useSkippedEngine } from '../toolkit/stack/skipped-engine.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

describe('the gate of an endpoint', function () {
  this.timeout(60_000);
  const engine = useSkippedEngine();

  const pause = ({ clubId, endpoint }: Subscription) =>
    engine().act((deps, now) => pauseEndpoint(deps, clubId, endpoint.id, now));
  const enable = ({ clubId, endpoint }: Subscription) =>
    engine().act((deps, now) => enableEndpoint(deps, clubId, endpoint.id, now));
  const parkedAt = async ({ endpoint }: Subscription) => {
    const [row] = await (
      await testDatabase()
    ).query<{ count: number }[]>(
      `SELECT count(*)::int AS count FROM webhook_deliveries WHERE endpoint_id = $1 AND parked_at IS NOT NULL`,
      [endpoint.id],
    );
    return row?.count ?? 0;
  };
  const underWay = async ({ endpoint }: Subscription) => {
    const rows = await (
      await testDatabase()
    ).query<unknown[]>(
      `SELECT 1 FROM webhook_deliveries WHERE endpoint_id = $1 AND status = 'pending' AND parked_at IS NULL`,
      [endpoint.id],
    );
    return rows.length;
  };

  describe('an endpoint that is enabled after a pause', () => {
    it('gets its waiting deliveries in pages of 1, 2, 4 … 64', async () => {
      const { receiver, subscription } = await engine().endpoint();
      await pause(subscription);
      const deliveries = await engine().deliverAll(subscription, 135);
      expect(await parkedAt(subscription)).to.equal(135);
      expect(receiver.requests).to.have.length(0);

      const parkedBefore: number[] = [];
      engine().beforeGate = async () => {
        await until('the page before', { timeoutMs: 15_000 }, async () => (await underWay(subscription)) === 0);
        parkedBefore.push(await parkedAt(subscription));
      };
      await enable(subscription);
      expect(await engine().gateOf(subscription).result()).to.equal('open');
      const pages = parkedBefore
        .map((parked, index) => parked - (parkedBefore[index + 1] ?? 0))
        .filter((page) => page > 0);
      expect(pages).to.deep.equal([1, 2, 4, 8, 16, 32, 64, 8]);
      await engine().outcomesOf(deliveries);
      expect(receiver.requests).to.have.length(135);
      expect(await endpointRow(subscription.endpoint.id)).to.include({ releasePage: 0, gateLooksAt: null });
    });

    it('gets no larger page while half of the last page is in progress', async () => {
      let answer = () => {};
      const answers = new Promise<void>((resolve) => (answer = resolve));
      const { subscription } = await engine().endpoint(async () => {
        await answers;
        return { status: 200 };
      });
      await pause(subscription);
      const deliveries = await engine().deliverAll(subscription, 8);
      const pages: number[] = [];
      engine().beforeGate = async (endpointId) => {
        pages.push((await endpointRow(endpointId)).releasePage);
        if (pages.length === 3) answer();
      };
      await enable(subscription);
      expect(await engine().outcomesOf(deliveries)).to.deep.equal(deliveries.map(() => 'succeeded'));
      expect(pages.slice(0, 3)).to.deep.equal([0, 1, 1]);
    });

    it('gets a page of 1 again after a failure', async () => {
      const { receiver, subscription } = await engine().endpoint(() => ({ status: 500 }));
      await pause(subscription);
      const deliveries = await engine().deliverAll(subscription, 12);
      engine().beforeGate = async () => {
        const source = await testDatabase();
        // Waits until all released deliveries have made an attempt.
        await until('the page before', { timeoutMs: 15_000 }, async () => {
          const rows = await source.query<unknown[]>(
            `SELECT 1 FROM webhook_deliveries WHERE endpoint_id = $1 AND status = 'pending' AND parked_at IS NULL AND attempt_count = 0`,
            [subscription.endpoint.id],
          );
          return rows.length === 0;
        });
      };
      await enable(subscription);
      await engine().pass(30 * second);
      expect(await endpointRow(subscription.endpoint.id)).to.include({ breakerStep: 1, consecutiveFailures: 5 });
      expect(receiver.requests).to.have.length(5);
      // The fifth failure throttles the endpoint. In its next step, each delivery parks at the gate.
      await until('all are parked', { timeoutMs: 15_000 }, async () => (await parkedAt(subscription)) === 12);
      const { clubId, endpoint } = subscription;
      await engine().act((deps, now) => disableEndpoint(deps, clubId, endpoint.id, now));
      expect(new Set(await engine().outcomesOf(deliveries))).to.deep.equal(new Set(['canceled']));
      expect(await engine().gateOf(subscription).result()).to.equal('disabled');
    });

    it('gets no more deliveries when it is paused again', async () => {
      const { receiver, subscription } = await engine().endpoint();
      await pause(subscription);
      const deliveries = await engine().deliverAll(subscription, 12);
      let steps = 0;
      engine().beforeGate = async () => {
        await until('the page before', { timeoutMs: 15_000 }, async () => (await underWay(subscription)) === 0);
        if (++steps === 3) await pause(subscription);
      };
      await enable(subscription);
      await engine().pass(2 * hour);
      expect(receiver.requests).to.have.length(3); // pages of 1 and 2
      expect(await parkedAt(subscription)).to.equal(9);
      await enable(subscription);
      expect(await engine().outcomesOf(deliveries)).to.deep.equal(deliveries.map(() => 'succeeded'));
      expect(receiver.requests).to.have.length(12);
    });
  });

  describe('a delivery that is pending for 30 days', () => {
    it('expires at a paused endpoint without a request', async () => {
      const { receiver, subscription } = await engine().endpoint();
      await pause(subscription);
      const deliveries = await engine().deliverAll(subscription, 3);
      expect(await engine().outcomesOf(deliveries)).to.deep.equal(deliveries.map(() => 'canceled'));
      await eachCase(deliveries, async ({ id }) => {
        const row = await deliveryRow(id);
        expect(row).to.include({ status: 'canceled', cancelReason: 'expired', attemptCount: 0, parkedAt: null });
        const after = (row.completedAt?.getTime() ?? 0) - row.createdAt.getTime();
        expect(after).to.be.within(30 * day, 30 * day + 5 * second);
      });
      expect(receiver.requests).to.have.length(0);
      await enable(subscription);
      expect(await engine().gateOf(subscription).result()).to.equal('open');
    });

    it('expires at a throttled endpoint unless the gate has admitted it', async () => {
      const { receiver, subscription } = await engine().endpoint(() => ({ status: 500 }));
      // The endpoint was throttled before its pause, with the longest hold.
      await alter('webhook_endpoints', subscription.endpoint.id, throttledRow(7, await engine().now()));
      await pause(subscription);
      const [first, second_] = await engine().deliverAll(subscription, 2);
      if (!first || !second_) throw new Error('Fewer than two deliveries were built.');
      await engine().pass(30 * day - 30 * minute);
      await enable(subscription);
      expect(await engine().outcomesOf([first, second_])).to.deep.equal(['canceled', 'canceled']);
      expect(await deliveryRow(first.id)).to.include({ cancelReason: 'expired', attemptCount: 1 });
      expect(await deliveryRow(second_.id)).to.include({ cancelReason: 'expired', attemptCount: 0 });
      expect(receiver.requests).to.have.length(1);
    });
  });

  it('ends and cancels all waiting deliveries when the endpoint is disabled', async () => {
    const { receiver, subscription } = await engine().endpoint();
    const { clubId, endpoint } = subscription;
    await pause(subscription);
    const deliveries = await engine().deliverAll(subscription, 5);
    await engine().act((deps, now) => disableEndpoint(deps, clubId, endpoint.id, now));
    expect(await engine().outcomesOf(deliveries)).to.deep.equal(deliveries.map(() => 'canceled'));
    expect(await engine().gateOf(subscription).result()).to.equal('disabled');
    await eachCase(deliveries, async ({ id }) =>
      expect(await deliveryRow(id)).to.include({ status: 'canceled', cancelReason: null, attemptCount: 0 }),
    );
    expect(receiver.requests).to.have.length(0);
  });

  it('ends when the endpoint is deleted, like the runs of its deliveries', async () => {
    const { receiver, subscription } = await engine().endpoint(() => ({ status: 500 }));
    const { clubId, endpoint } = subscription;
    const waiting = await engine().deliver(subscription);
    await receiver.waitFor(1, 5 * second);
    await until('its failure', { timeoutMs: 5_000 }, async () => (await deliveryRow(waiting.id)).attemptCount === 1);
    await pause(subscription);
    const parked = await engine().deliverAll(subscription, 2);
    await engine().act((deps, now) => deleteEndpoint(deps, clubId, endpoint.id, now));
    const before = await engine().now();
    expect(await engine().outcomesOf([waiting, ...parked])).to.deep.equal(['canceled', 'canceled', 'canceled']);
    expect(await engine().gateOf(subscription).result()).to.equal('disabled');
    for (const run of [engine().gateOf(subscription), ...[waiting, ...parked].map((one) => engine().runOf(one))]) {
      const { closeTime } = await run.describe();
      expect((closeTime?.getTime() ?? Number.NaN) - before.getTime(), 'time until the end').to.be.below(minute);
    }
    expect(receiver.requests).to.have.length(1);
  });

  it('releases all deliveries even if the worker has no cache', async () => {
    const { receiver, subscription } = await engine().endpoint();
    const deliveries: TestWebhookDelivery[] = [];
    await alter('webhook_endpoints', subscription.endpoint.id, { status: 'paused' });
    const gate = await engine().startGate(subscription, { taskQueue: uncached });
    while (deliveries.length < 5) deliveries.push(await buildWebhookDelivery(subscription, await engine().now()));
    for (const delivery of deliveries) await engine().start(delivery, { taskQueue: uncached });
    await until('all parked', { timeoutMs: 10 * second }, async () => (await parkedAt(subscription)) === 5);
    await enable(subscription);
    expect(await engine().outcomesOf(deliveries)).to.deep.equal(deliveries.map(() => 'succeeded'));
    expect(await gate.result()).to.equal('open');
    expect(receiver.requests).to.have.length(5);
  });

  describe('the texts for operators', () => {
    it('say, in timers and details, why the gate and the delivery wait', async () => {
      const { subscription } = await engine().endpoint();
      await pause(subscription);
      const [delivery] = await engine().deliverAll(subscription, 1);
      if (!delivery) throw new Error('No delivery was built.');
      expect(await detailsOf(engine().runOf(delivery))).to.match(
        /^Waiting for the endpoint to be enabled again, until \d{4}-\d\d-\d\dT[\d:.]+Z$/,
      );
      expect(await detailsOf(engine().gateOf(subscription))).to.match(
        /^Waiting for the endpoint to be enabled again; \d parked, until /,
      );
      await engine().pass(25 * hour); // the gate checks the endpoint once a day
      await enable(subscription);
      await engine().outcomesOf([delivery]);
      expect((await summariesOf(engine().runOf(delivery))).timers).to.deep.equal(['the endpoint to be enabled again']);
      const { timers } = await summariesOf(engine().gateOf(subscription));
      expect(timers).to.include('the endpoint to be enabled again; 1 parked');
    });

    it('name the hold, the probe and the next page of a throttled endpoint', async () => {
      const { subscription } = await engine().endpoint((_, number) =>
        number <= 7 ? { status: 500 } : { status: 200, delayMs: 300 },
      );
      const deliveries = await engine().deliverAll(subscription, 7);
      await engine().outcomesOf(deliveries);
      expect(await engine().gateOf(subscription).result()).to.equal('open');
      const { timers } = await summariesOf(engine().gateOf(subscription));
      expect(timers[0]).to.match(
        // The hold began at the fifth failure, and time has passed since then.
        /^the end of the circuit breaker's wait in about (?:60|5\d) s; \d parked; disabled as failing in about 5 d$/,
      );
      expect(timers[1]).to.match(/^the attempt that was let through; \d parked; disabled as failing in about 5 d$/);
      expect(timers.at(-1)).to.match(/^the next page to release; \d parked$/);
      const own = await Promise.all(deliveries.map((one) => summariesOf(engine().runOf(one))));
      // The server's time continues between the record and the timer.
      expect(own[0]?.timers[0]).to.match(/^attempt 2 of 8 in about [45] s$/);
      await eachCase(own, ({ timers: waits }) => expect(waits).to.include("its turn at the endpoint's gate"));
    });
  });

  it('admits an attempt only after the hold, even if the gate is signaled often', async () => {
    const { subscription } = await engine().endpoint();
    const now = await engine().now();
    await alter('webhook_endpoints', subscription.endpoint.id, throttledRow(7, new Date(now.getTime() + hour)));
    const [delivery] = await engine().deliverAll(subscription, 1);
    if (!delivery) throw new Error('No delivery was built.');
    for (let calls = 0; calls < 3; calls++) {
      await engine().act(({ db }) => db.transaction((tx) => callGate(tx, gateAt(subscription), now)));
    }
    await engine().outcomesOf([delivery]);
    const [attempt] = await attemptsAt(subscription.endpoint.id);
    expect((attempt?.startedAt.getTime() ?? 0) - now.getTime()).to.be.within(hour, hour + 2 * second);
  });
});

/** The circuit breaker tripped this many times. */
function throttledRow(step: number, holdUntil: Date): Record<string, unknown> {
  return {
    consecutive_failures: 4 + step,
    failing_since: new Date(holdUntil.getTime() - hour),
    hold_until: holdUntil,
    breaker_step: step,
    breaker_epoch: step,
    gate_looks_at: holdUntil,
  };
}

const gateAt = ({ clubId, endpoint }: Subscription) => ({ clubId, endpointId: endpoint.id });

/** The details that the Temporal UI shows for a waiting run. */
async function detailsOf(handle: { query: (name: string) => Promise<unknown> }): Promise<string> {
  return until('its details', { timeoutMs: 5_000 }, async () => {
    const metadata = (await handle.query('__temporal_workflow_metadata')) as { currentDetails?: string };
    return metadata.currentDetails;
  });
}
