import { attemptDelivery } from '../../../../domain/webhooks/attempts/attempt.ts';
import { disableEndpoint, enableEndpoint } from '../../../../domain/webhooks/queues/endpoint-states.ts';
import { tendGate } from '../../../../domain/webhooks/queues/gate.ts';
import { recoverDeliveries } from '../../../../domain/webhooks/deliveries/manual.ts';
import { closeEndpoint } from '../../../../domain/webhooks/queues/close-endpoint.ts';
import { gateRun, wakesBy, wakesOf } from '../../../toolkit/assert/wakes.ts';
import { deliveryRow, endpointRow } from '../../../toolkit/assert/webhooks.ts';
import { buildSubscription, buildWebhookDelivery, type Subscription } from '../../../toolkit/builders/webhooks.ts';
import { alter } from '../../../toolkit/drive/alter.ts';
import { withClockStopped } from '../../../toolkit/fakes/timers.ts';
import { testDatabase, testDeps } from '../../../toolkit/stack/database.ts';
import { useDeliveries } from '../../../toolkit/stack/receivers.ts';
import { expect } from 'chai';

const minute = 60_000;
const url = 'https://93.184.216.34/hooks';

/** Each delivery has its own event. */
async function multiply(subscription: Subscription, count: number): Promise<void> {
  const { id } = await buildWebhookDelivery(subscription);
  await (
    await testDatabase()
  ).query(
    `WITH copies AS (SELECT uuidv7() AS id, uuidv7() AS event_id FROM generate_series(2, $2)),
          events AS (
       INSERT INTO webhook_events (id, club_id, type, student_id, occurred_at, created_at)
       SELECT copies.event_id, event.club_id, event.type, event.student_id, event.occurred_at, event.created_at
         FROM copies, webhook_deliveries delivery JOIN webhook_events event ON event.id = delivery.event_id WHERE delivery.id = $1)
     INSERT INTO webhook_deliveries (id, club_id, endpoint_id, event_id, event_type, student_id, next_attempt_at, created_at)
     SELECT copies.id, club_id, endpoint_id, copies.event_id, event_type, student_id, next_attempt_at, created_at
       FROM copies, webhook_deliveries WHERE webhook_deliveries.id = $1`,
    [id, count],
  );
}

async function statuses(endpointId: string): Promise<Record<string, number>> {
  const rows = await (
    await testDatabase()
  ).query<{ status: string; count: number }[]>(
    `SELECT status, count(*)::int AS count FROM webhook_deliveries WHERE endpoint_id = $1 GROUP BY 1 ORDER BY 1`,
    [endpointId],
  );
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
}

describe('an endpoint with a long queue', function () {
  this.timeout(20_000);
  let subscription: Subscription;
  const ids = () => [subscription.clubId, subscription.endpoint.id] as const;
  const tend = async (now = Date.now()) => tendGate(await testDeps(), subscription.endpoint.id, now);
  beforeEach('build 2,500 pending deliveries', async () => {
    subscription = await buildSubscription(url);
    await multiply(subscription, 2_500);
  });

  it('cancels 2,000 deliveries when it is disabled, and its gate cancels the others', async () => {
    const deps = await testDeps();
    const woken = await wakesBy(subscription.clubId, () => disableEndpoint(deps, ...ids(), new Date()));
    expect(woken).to.include(gateRun(subscription.endpoint)).and.to.have.length(2_001);
    expect(await statuses(subscription.endpoint.id)).to.deep.equal({ canceled: 2_000, pending: 500 });
    expect((await endpointRow(subscription.endpoint.id)).gateLooksAt, 'the sweeper finds the gate').not.to.equal(null);

    expect(await tend()).to.deep.equal({ done: true, outcome: 'disabled' });
    expect(await statuses(subscription.endpoint.id)).to.deep.equal({ canceled: 2_500 });
    expect((await endpointRow(subscription.endpoint.id)).gateLooksAt).to.equal(null);
  });

  it('cancels and releases deliveries with bulk priority, except the first (ENG-15)', async () => {
    const deps = await testDeps();
    const wakesAfter = async (act: () => Promise<unknown>) => {
      await wakesBy(subscription.clubId, act);
      const wakes = await wakesOf(subscription.clubId);
      return wakes.filter(({ workflowType }) => workflowType === 'webhookDelivery').map(({ priority }) => priority);
    };
    await (
      await testDatabase()
    ).query(`UPDATE webhook_deliveries SET parked_at = now() WHERE endpoint_id = $1`, [subscription.endpoint.id]);
    const now = Date.now();
    expect(await wakesAfter(() => tend(now))).to.deep.equal([1]);
    await alter('webhook_endpoints', subscription.endpoint.id, { release_page: 2 });
    expect(await wakesAfter(() => tend(now + 1_000))).to.deep.equal([2, 2, 2]); // one delivery of the page of four is already in progress
    const canceled = await wakesAfter(() => disableEndpoint(deps, ...ids(), new Date()));
    expect(canceled).to.deep.equal(Array.from({ length: 2_000 }, () => 2));
  });

  it('refuses to be enabled with endpoint_not_enabled before its queue is canceled', async () => {
    const deps = await testDeps();
    await disableEndpoint(deps, ...ids(), new Date());
    const refused = await enableEndpoint(deps, ...ids(), new Date()).catch((error: unknown) => error);
    expect(refused).to.include({ code: 'endpoint_not_enabled' });
    await tend();
    expect(await enableEndpoint(deps, ...ids(), new Date())).to.include({
      status: 'enabled',
      pending_deliveries: 0,
    });
  });

  it('is disabled after five days of failures, and its gate cancels all deliveries', async () => {
    const failingSince = new Date(Date.now() - 6 * 24 * 60 * minute);
    await multiply(subscription, 2_000);
    await alter('webhook_endpoints', subscription.endpoint.id, {
      consecutive_failures: 9,
      failing_since: failingSince,
    });
    expect(await tend()).to.include({ done: false, doing: 'canceling' });
    expect(await tend()).to.include({ done: false, doing: 'canceling' });
    expect(await tend()).to.deep.equal({ done: true, outcome: 'disabled' });
    expect(await statuses(subscription.endpoint.id)).to.deep.equal({ canceled: 4_500 });
  });

  it('recovers all 2,500 deliveries in one call', async () => {
    const deps = await testDeps();
    await (
      await testDatabase()
    ).query(`UPDATE webhook_deliveries SET status = 'failed', completed_at = now() WHERE endpoint_id = $1`, [
      subscription.endpoint.id,
    ]);
    const since = new Date(Date.now() - minute);
    expect(await recoverDeliveries(deps, ...ids(), since, new Date())).to.deep.equal({ recovered: 2_500 });
    expect(await statuses(subscription.endpoint.id)).to.deep.equal({ pending: 2_500 });
  });
});

describe('an endpoint after a change', () => {
  const delivering = useDeliveries();
  const failing = { consecutive_failures: 4, failing_since: new Date() };
  const due = async (respond: () => { status: number }) => {
    const receiver = await delivering().receiver(respond);
    return buildWebhookDelivery(await buildSubscription(receiver.url));
  };
  const step = (id: string) => attemptDelivery(delivering().deps(), id, Date.now());

  it('releases only one delivery at first after its breaker has opened', async () => {
    const delivery = await due(() => ({ status: 500 }));
    await alter('webhook_endpoints', delivery.endpoint.id, { ...failing, release_page: 64 });
    await step(delivery.id);
    expect(await endpointRow(delivery.endpoint.id)).to.include({ breakerStep: 1, releasePage: 0 });
  });

  it('has a gate that is due immediately after a success', () =>
    withClockStopped(async (now) => {
      const delivery = await due(() => ({ status: 200 }));
      const holdUntil = new Date(now + 60 * minute);
      const throttled = { ...failing, breaker_step: 3, hold_until: holdUntil, gate_looks_at: holdUntil };
      await alter('webhook_endpoints', delivery.endpoint.id, { ...throttled, admitted_delivery_id: delivery.id });
      await step(delivery.id);
      const row = await endpointRow(delivery.endpoint.id);
      expect(row).to.include({ breakerStep: 0, admittedDeliveryId: null });
      expect(row.gateLooksAt?.getTime()).to.equal(now);
    }));

  it('is no longer throttled after a success, even without recorded failures', async () => {
    const delivery = await due(() => ({ status: 200 }));
    const oldState = { consecutive_failures: 0, breaker_step: 3, admitted_delivery_id: delivery.id };
    await alter('webhook_endpoints', delivery.endpoint.id, oldState);
    await step(delivery.id);
    expect(await endpointRow(delivery.endpoint.id)).to.include({ breakerStep: 0, admittedDeliveryId: null });
  });

  it('keeps its breaker at step 16 and its hold at one hour', () =>
    withClockStopped(async (now) => {
      const delivery = await due(() => ({ status: 500 }));
      await alter('webhook_endpoints', delivery.endpoint.id, { ...failing, breaker_step: 16 });
      await alter('webhook_deliveries', delivery.id, { requested: 'manual' });
      await step(delivery.id);
      const row = await endpointRow(delivery.endpoint.id);
      expect(row.breakerStep).to.equal(16);
      expect(row.holdUntil?.getTime()).to.equal(now + 60 * minute);
    }));

  it('releases an interrupted recovery when it is enabled', async () => {
    const delivery = await due(() => ({ status: 200 }));
    const deps = await testDeps();
    await alter('webhook_endpoints', delivery.endpoint.id, { ...failing, status: 'paused', breaker_step: 3 });
    await alter('webhook_deliveries', delivery.id, { in_flight: 'recovery', parked_at: new Date() });
    await enableEndpoint(deps, delivery.clubId, delivery.endpoint.id, new Date());
    expect((await deliveryRow(delivery.id)).parkedAt).to.equal(null);
    expect(await step(delivery.id)).to.deep.equal({ done: true, outcome: 'succeeded' });
  });

  it('makes no requested attempt of a purged delivery', async () => {
    const delivery = await due(() => ({ status: 200 }));
    const oldState = { status: 'succeeded', payload_purged_at: new Date(), requested: 'manual' };
    await alter('webhook_deliveries', delivery.id, oldState);
    expect(await step(delivery.id)).to.deep.equal({ done: true, outcome: 'succeeded' });
  });

  it('releases only one delivery at first after the endpoint was closed', async () => {
    const { db, vault } = await testDeps();
    const { clubId, endpoint } = await buildSubscription(url);
    await alter('webhook_endpoints', endpoint.id, { release_page: 64 });
    await db.transaction((tx) => closeEndpoint(tx, vault, { id: endpoint.id, clubId }, 'manual', new Date()));
    expect((await endpointRow(endpoint.id)).releasePage).to.equal(0);
  });
});
