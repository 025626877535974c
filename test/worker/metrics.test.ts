import { expect } from 'chai';
import { register, type Metric } from 'prom-client';
import { enableEndpoint, disableEndpoint, pauseEndpoint } from '../../domain/webhooks/endpoint-states.ts';
import { accepted, refused, stepOf } from '../toolkit/drive/attempts.ts';
import { testDatabase, testPlatform } from '../toolkit/stack/database.ts';
// Last: mocha tries `require` first, which ends at a top-level await of the stack's; the metrics must not have been made by then.
import { registerBacklogGauges } from '../../worker/metrics.ts';
import { buildWebhookDelivery, buildSubscription, type Subscription } from '../toolkit/builders/webhooks.ts';

/** Failures in a row that arm the breaker (States: Webhook endpoint). */
const failuresToArm = 5;
const gauges = ['webhook_endpoints_throttled', 'webhook_deliveries_pending', 'webhook_deliveries_parked'] as const;

describe('the gauges of the webhook engine: each change of state is seen at once', () => {
  let known: Metric[];
  let atFirst: number[];
  let dead: Subscription;
  let paused: Subscription;

  before(
    'register them on the database of the run, in place of any that a worker of this process has left',
    async () => {
      known = register.getMetricsAsArray().flatMap(({ name }) => register.getSingleMetric(name) ?? []);
      register.clear();
      registerBacklogGauges(await testDatabase());
      [dead, paused] = [
        await buildSubscription('https://dead.example'),
        await buildSubscription('https://paused.example'),
      ];
      atFirst = await read();
    },
  );
  after('leave them as they were', () => {
    register.clear();
    for (const metric of known) register.registerMetric(metric);
  });

  const read = () =>
    Promise.all(
      gauges.map(async (name) => (await register.getSingleMetric(name)?.get())?.values[0]?.value ?? Number.NaN),
    );
  /** How many more than before the tests: other tests have left rows of their own. */
  const since = async () => {
    const [throttled, pending, parked] = (await read()).map((value, index) => value - (atFirst[index] ?? Number.NaN));
    return { throttled, pending, parked };
  };
  const endpointOf = async ({ clubId, endpoint }: Subscription) =>
    [await testPlatform(), clubId, endpoint.id, new Date()] as const;

  it('deliveries that are due, and one that waits for its second attempt, are pending; one that has ended is not', async () => {
    const waiting = await buildWebhookDelivery(paused);
    await stepOf(waiting, refused);
    const ended = await buildWebhookDelivery(paused);
    await stepOf(ended, accepted);
    await buildWebhookDelivery(paused);
    expect(await since()).to.deep.equal({ throttled: 0, pending: 2, parked: 0 });
  });

  it('four failures in a row do not throttle an endpoint; the fifth does', async () => {
    const deliveries = await Promise.all(Array.from({ length: failuresToArm }, () => buildWebhookDelivery(dead)));
    const [last, ...others] = deliveries;
    for (const delivery of others) await stepOf(delivery, refused);
    expect(await since()).to.deep.equal({ throttled: 0, pending: 7, parked: 0 });
    if (last) await stepOf(last, refused);
    expect(await since()).to.deep.equal({ throttled: 1, pending: 7, parked: 0 });
  });

  it('what is due at a throttled endpoint, or at a paused one, is parked, and still pending', async () => {
    await stepOf(await buildWebhookDelivery(dead));
    expect(await since()).to.deep.equal({ throttled: 1, pending: 8, parked: 1 });
    await pauseEndpoint(...(await endpointOf(paused)));
    await stepOf(await buildWebhookDelivery(paused));
    expect(await since()).to.deep.equal({ throttled: 1, pending: 9, parked: 2 });
  });

  it('a throttled endpoint that is paused does not count; set enabled, it does again', async () => {
    await pauseEndpoint(...(await endpointOf(dead)));
    expect(await since()).to.deep.equal({ throttled: 0, pending: 9, parked: 2 });
    await enableEndpoint(...(await endpointOf(dead)));
    expect(await since()).to.deep.equal({ throttled: 1, pending: 9, parked: 2 });
  });

  it('an endpoint that was paused and still lets its queue go is not throttled', async () => {
    await enableEndpoint(...(await endpointOf(paused)));
    expect(await since()).to.deep.equal({ throttled: 1, pending: 9, parked: 2 });
  });

  it('disabling an endpoint takes it and its queue out of all three', async () => {
    await disableEndpoint(...(await endpointOf(dead)));
    expect(await since()).to.deep.equal({ throttled: 0, pending: 3, parked: 1 });
    await disableEndpoint(...(await endpointOf(paused)));
    expect(await since()).to.deep.equal({ throttled: 0, pending: 0, parked: 0 });
  });
});
