import { expect } from 'chai';
import { register, type Metric } from 'prom-client';
import { disableEndpoint, enableEndpoint, pauseEndpoint } from '../../domain/webhooks/endpoints/endpoint-states.ts';
import { accepted, refused, stepOf } from '../toolkit/drive/attempts.ts';
import { testDatabase, testDeps } from '../toolkit/stack/database.ts';

// Last: mocha tries `require` first, which ends at a top-level await of the stack's; the metrics must not have been made by then.
import { registerBacklogGauges } from '../../worker/metrics.ts';
import { buildWebhookDelivery, buildSubscription, type Subscription } from '../toolkit/builders/webhooks.ts';

/** Failures in a row that arm the breaker (STATE-3). */
const failuresToArm = 5;
const gauges = ['webhook_endpoints_throttled', 'webhook_deliveries_pending', 'webhook_deliveries_parked'] as const;

describe('the gauges of the webhook engine', () => {
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
    [await testDeps(), clubId, endpoint.id, new Date()] as const;

  it('tell how many facts and wakes fail, and since when', async () => {
    const source = await testDatabase();
    const failing = async () => {
      const values = await Promise.all(
        ['relay_failing', 'relay_failing_age_seconds'].map(
          async (name) => (await register.getSingleMetric(name)?.get())?.values,
        ),
      );
      return values.map((ofKinds) => ofKinds?.map(({ labels, value }) => [labels['kind'], Math.round(value / 60)]));
    };
    expect(await failing()).to.deep.equal([
      [
        ['fact', 0],
        ['wake', 0],
      ],
      [
        ['fact', 0],
        ['wake', 0],
      ],
    ]);
    await source.query(
      `INSERT INTO facts (id, club_id, type, student_id, occurred_at, recorded_at, attempt_count)
       SELECT gen_random_uuid(), gen_random_uuid(), 'student.created', gen_random_uuid(), now() - interval '1 year',
              now() - interval '1 min' * attempts, attempts
         FROM generate_series(0, 120) attempts`,
    );
    try {
      expect(await failing()).to.deep.equal([
        [
          ['fact', 2],
          ['wake', 0],
        ],
        [
          ['fact', 120],
          ['wake', 0],
        ],
      ]);
    } finally {
      await source.query(`DELETE FROM facts WHERE attempt_count > 0 OR occurred_at < now()`);
    }
  });

  it('count due and retrying deliveries as pending, but no ended one', async () => {
    const waiting = await buildWebhookDelivery(paused);
    await stepOf(waiting, refused);
    const ended = await buildWebhookDelivery(paused);
    await stepOf(ended, accepted);
    await buildWebhookDelivery(paused);
    expect(await since()).to.deep.equal({ throttled: 0, pending: 2, parked: 0 });
  });

  it('count an endpoint as throttled from its fifth failure in a row', async () => {
    const deliveries = await Promise.all(Array.from({ length: failuresToArm }, () => buildWebhookDelivery(dead)));
    const [last, ...others] = deliveries;
    for (const delivery of others) await stepOf(delivery, refused);
    expect(await since()).to.deep.equal({ throttled: 0, pending: 7, parked: 0 });
    if (last) await stepOf(last, refused);
    expect(await since()).to.deep.equal({ throttled: 1, pending: 7, parked: 0 });
  });

  it('count deliveries of a throttled or paused endpoint as parked and pending', async () => {
    await stepOf(await buildWebhookDelivery(dead));
    expect(await since()).to.deep.equal({ throttled: 1, pending: 8, parked: 1 });
    await pauseEndpoint(...(await endpointOf(paused)));
    await stepOf(await buildWebhookDelivery(paused));
    expect(await since()).to.deep.equal({ throttled: 1, pending: 9, parked: 2 });
  });

  it('do not count a throttled endpoint while it is paused', async () => {
    await pauseEndpoint(...(await endpointOf(dead)));
    expect(await since()).to.deep.equal({ throttled: 0, pending: 9, parked: 2 });
    await enableEndpoint(...(await endpointOf(dead)));
    expect(await since()).to.deep.equal({ throttled: 1, pending: 9, parked: 2 });
  });

  it('do not count an endpoint that releases its queue after a pause', async () => {
    await enableEndpoint(...(await endpointOf(paused)));
    expect(await since()).to.deep.equal({ throttled: 1, pending: 9, parked: 2 });
  });

  it('do not count a disabled endpoint and its queue', async () => {
    await disableEndpoint(...(await endpointOf(dead)));
    expect(await since()).to.deep.equal({ throttled: 0, pending: 3, parked: 1 });
    await disableEndpoint(...(await endpointOf(paused)));
    expect(await since()).to.deep.equal({ throttled: 0, pending: 0, parked: 0 });
  });
});
