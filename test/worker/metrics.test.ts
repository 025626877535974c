import { expect } from 'chai';
import { register, type Metric } from 'prom-client';
import { tendAutomationGate } from '../../domain/automations/gate.ts';
import { pauseAutomation, resumeAutomation } from '../../domain/automations/states.ts';
import { disableEndpoint, enableEndpoint, pauseEndpoint } from '../../domain/webhooks/queues/endpoint-states.ts';
import { rollUpListTallies } from '../../platform/infra/postgres/lists/counts.ts';
import { buildAutomation } from '../toolkit/builders/automations.ts';
import { buildOverageCharge } from '../toolkit/builders/billing.ts';
import { buildClub, buildStudent } from '../toolkit/builders/clubs.ts';
import { playAutomations } from '../toolkit/drive/automations.ts';
import { accepted, refused, stepOf } from '../toolkit/drive/attempts.ts';
import { withTimersStopped } from '../toolkit/fakes/timers.ts';
import { testDatabase, testDeps } from '../toolkit/stack/database.ts';

// This import must come last: Mocha loads the file twice, and the metrics must be registered only in the second load.
import { newId } from '../../platform/core/ids.ts';
import { registerBacklogGauges, registerFfmpegGauge } from '../../worker/reports/metrics.ts';
import { buildWebhookDelivery, buildSubscription, type Subscription } from '../toolkit/builders/webhooks.ts';

/** This many failures in a row trip the circuit breaker (STATE-3). */
const failuresToArm = 5;
const gauges = ['webhook_endpoints_throttled', 'webhook_deliveries_pending', 'webhook_deliveries_parked'] as const;

describe('the gauges of webhooks and automations', () => {
  let known: Metric[];
  let atFirst: number[];
  let dead: Subscription;
  let paused: Subscription;

  before('replace the registered metrics by gauges on the database of this run', async () => {
    known = register.getMetricsAsArray().flatMap(({ name }) => register.getSingleMetric(name) ?? []);
    register.clear();
    registerBacklogGauges((await testDeps()).db, { ageSeconds: () => 61 });
    [dead, paused] = [
      await buildSubscription('https://dead.example'),
      await buildSubscription('https://paused.example'),
    ];
    atFirst = await read();
  });
  after('restore the registered metrics', () => {
    register.clear();
    for (const metric of known) register.registerMetric(metric);
  });

  const read = () =>
    Promise.all(
      gauges.map(async (name) => (await register.getSingleMetric(name)?.get())?.values[0]?.value ?? Number.NaN),
    );
  /** Other tests leave rows in the tables. */
  const increase = async () => {
    const [throttled, pending, parked] = (await read()).map((value, index) => value - (atFirst[index] ?? Number.NaN));
    return { throttled, pending, parked };
  };
  const roundedTo10 = (value: number) => (value < 10 ? Math.trunc(value) : Math.floor(value / 10) * 10);
  const endpointOf = async ({ clubId, endpoint }: Subscription) =>
    [await testDeps(), clubId, endpoint.id, new Date()] as const;

  it('count rows in the default partition', async () => {
    const source = await testDatabase();
    const count = async () =>
      (await register.getSingleMetric('webhook_default_partition_rows')?.get())?.values[0]?.value ?? Number.NaN;
    const before = await count();
    await source.query(
      `INSERT INTO webhook_bodies (event_id, created_at, body) VALUES ($1, '2100-01-01', '{}'), ($1, '2100-01-02', '{}')`,
      [newId()],
    );
    await source.query(
      `INSERT INTO webhook_attempts (delivery_id, fence, number, trigger, started_at) VALUES ($1, 1, 1, 'schedule', '2100-01-01')`,
      [newId()],
    );
    expect((await count()) - before).to.equal(3);
    await source.query(`DELETE FROM webhook_bodies WHERE created_at > '2099-01-01'`);
    await source.query(`DELETE FROM webhook_attempts WHERE started_at > '2099-01-01'`);
    expect(await count()).to.equal(before);
  });

  for (const { what, begin } of [
    { what: 'has a snapshot', begin: `BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1` },
    {
      what: 'has written',
      begin: `BEGIN; SELECT pg_current_xact_id()`,
    },
  ]) {
    it(`measure the age of a transaction that ${what}`, async () => {
      const runner = (await testDatabase()).createQueryRunner();
      const age = async () => {
        const gauge = register.getSingleMetric('postgres_oldest_snapshot_seconds');
        return (await gauge?.get())?.values[0]?.value ?? Number.NaN;
      };
      try {
        await runner.query(begin);
        await runner.query('SELECT pg_sleep(0.3)');
        expect(await age()).to.be.within(0.3, 60);
      } finally {
        await runner.query('ROLLBACK');
        await runner.release();
      }
      expect(await age()).to.be.lessThan(0.3);
    });
  }

  it('show whether the worker of the task queue media has found ffmpeg (MED-24)', async () => {
    const ffmpeg: { isThere: boolean | undefined } = { isThere: undefined };
    const unregister = registerFfmpegGauge(ffmpeg);
    const values: unknown[] = [];
    for (const isThere of [undefined, true, false]) {
      ffmpeg.isThere = isThere;
      values.push((await register.getSingleMetric('media_ffmpeg_there')?.get())?.values[0]?.value);
    }
    unregister();
    expect([values, register.getSingleMetric('media_ffmpeg_there')]).to.deep.equal([[0, 1, 0], undefined]);
  });

  it('show the age of the sweeper’s last complete round (ENG-5)', async () => {
    const gauge = await register.getSingleMetric('sweeper_round_age_seconds')?.get();
    expect(gauge?.values.map(({ value }) => value)).to.deep.equal([61]);
  });

  it('show the number and the age of facts and wakes that have failed', async () => {
    const source = await testDatabase();
    const failed = async () => {
      const gaugeValues: Record<string, Record<string, number>> = {};
      for (const name of ['relay_failing', 'relay_failing_age_seconds']) {
        const values = (await register.getSingleMetric(name)?.get())?.values ?? [];
        // Values are rounded down to tens, which hides the seconds that the test takes.
        gaugeValues[name] = Object.fromEntries(values.map(({ labels, value }) => [labels['kind'], roundedTo10(value)]));
      }
      return gaugeValues;
    };
    const none = { relay_failing: { fact: 0, wake: 0 }, relay_failing_age_seconds: { fact: 0, wake: 0 } };
    expect(await failed()).to.deep.equal(none);
    // The oldest fact and the oldest wake have not failed.
    await source.query(
      `INSERT INTO facts (id, club_id, type, student_id, occurred_at, recorded_at, attempt_count)
       SELECT gen_random_uuid(), gen_random_uuid(), 'student.created', gen_random_uuid(), now() - interval '1 year',
              now() - interval '1 min' * age, attempts
         FROM (VALUES (30, 0), (20, 1), (10, 9)) AS facts (age, attempts)`,
    );
    await source.query(
      `INSERT INTO wakes (workflow_id, workflow_type, subject_id, club_id, attributes, recorded_at, due_at, attempt_count)
       SELECT 'webhook-delivery/' || age, 'webhookDelivery', gen_random_uuid(), gen_random_uuid(), '{}',
              now() - interval '1 min' * age, now(), attempts
         FROM (VALUES (9, 0), (5, 1), (4, 2), (3, 3)) AS wakes (age, attempts)`,
    );
    try {
      expect(await failed()).to.deep.equal({
        relay_failing: { fact: 2, wake: 3 },
        relay_failing_age_seconds: { fact: 20 * 60, wake: 5 * 60 },
      });
    } finally {
      await source.query(`TRUNCATE facts, wakes`);
    }
    expect(await failed()).to.deep.equal(none);
  });

  it('count active runs, held runs and open gates of automations', async () => {
    const deps = await testDeps();
    const { id: clubId } = await buildClub();
    const play = await playAutomations(clubId, new Date());
    const wait = { id: 'wait', kind: 'wait', wait: { kind: 'delay', amount: 1, unit: 'hours' } } as const;
    const automationId = await buildAutomation(clubId, { steps: [wait] }, play.now());
    for (let count = 0; count < 3; count++) await play.enroll(automationId, (await buildStudent(clubId)).id);
    await play.settle();
    const values = async () => {
      const names = ['automation_runs_active', 'automation_runs_held', 'automation_gates_open'];
      return Promise.all(names.map(async (name) => (await register.getSingleMetric(name)?.get())?.values[0]?.value));
    };
    expect(await values()).to.deep.equal([3, 0, 0]);
    await rollUpListTallies(deps.db, 1_000);
    await pauseAutomation(deps, clubId, automationId, play.now());
    await play.pass(3_600_000);
    expect(await values(), 'after the pause').to.deep.equal([3, 3, 0]);
    await resumeAutomation(deps, clubId, automationId, play.now());
    await tendAutomationGate(deps, automationId, play.now().getTime());
    expect(await values(), 'after the release of the first run').to.deep.equal([3, 2, 1]);
    await play.pass(10_000);
    expect(await values(), 'after the release of all runs').to.deep.equal([0, 0, 0]);
  });

  it('count charges for overage that have been held for an hour, by reason', async () => {
    const clubs = await Promise.all(Array.from({ length: 5 }, () => buildClub()));
    const old = { created_at: new Date(Date.now() - 2 * 3_600_000) };
    const details = [
      { ...old, reason: 'currency_without_price' },
      { ...old, item_id: 'ii_1', charged_at: new Date() },
      { ...old, reason: 'refused_by_processor', item_id: 'ii_2', charged_at: new Date() },
      { ...old, reason: 'currency_without_price', status: 'failed', settled_at: new Date() },
      { reason: 'currency_without_price' },
    ];
    for (const [place, { id }] of clubs.entries()) await buildOverageCharge(id, details[place]);
    const values = (await register.getSingleMetric('overage_charges_held')?.get())?.values ?? [];
    const counted = Object.fromEntries(values.map(({ labels, value }) => [labels['reason'], value]));
    expect(counted).to.include({ currency_without_price: 2, refused_by_processor: 1, processor_unreachable: 0 });
  });

  it('count due and retried deliveries as pending', async () => {
    const waiting = await buildWebhookDelivery(paused);
    await stepOf(waiting, refused);
    const ended = await buildWebhookDelivery(paused);
    await stepOf(ended, accepted);
    await buildWebhookDelivery(paused);
    expect(await increase()).to.deep.equal({ throttled: 0, pending: 2, parked: 0 });
  });

  it('count an endpoint as throttled after its fifth failure in a row', async () => {
    const deliveries = await Promise.all(Array.from({ length: failuresToArm }, () => buildWebhookDelivery(dead)));
    const [last, ...others] = deliveries;
    for (const delivery of others) await stepOf(delivery, refused);
    expect(await increase()).to.deep.equal({ throttled: 0, pending: 7, parked: 0 });
    if (last) await stepOf(last, refused);
    expect(await increase()).to.deep.equal({ throttled: 1, pending: 7, parked: 0 });
  });

  it('count a delivery of a throttled or paused endpoint as parked and pending', async () => {
    await stepOf(await buildWebhookDelivery(dead));
    expect(await increase()).to.deep.equal({ throttled: 1, pending: 8, parked: 1 });
    await pauseEndpoint(...(await endpointOf(paused)));
    await stepOf(await buildWebhookDelivery(paused));
    expect(await increase()).to.deep.equal({ throttled: 1, pending: 9, parked: 2 });
  });

  it('do not count a throttled endpoint while it is paused', async () => {
    await pauseEndpoint(...(await endpointOf(dead)));
    expect(await increase()).to.deep.equal({ throttled: 0, pending: 9, parked: 2 });
    await enableEndpoint(...(await endpointOf(dead)));
    expect(await increase()).to.deep.equal({ throttled: 1, pending: 9, parked: 2 });
  });

  it('do not count an endpoint as throttled when it is enabled after a pause', async () => {
    await enableEndpoint(...(await endpointOf(paused)));
    expect(await increase()).to.deep.equal({ throttled: 1, pending: 9, parked: 2 });
  });

  it('count neither a disabled endpoint nor its deliveries', async () => {
    await disableEndpoint(...(await endpointOf(dead)));
    expect(await increase()).to.deep.equal({ throttled: 0, pending: 3, parked: 1 });
    await disableEndpoint(...(await endpointOf(paused)));
    expect(await increase()).to.deep.equal({ throttled: 0, pending: 0, parked: 0 });
  });
});

describe('the gauges while Postgres is slow (ENG-18)', () => {
  /** `query` replaces each query of a gauge. Returns the text of /metrics. */
  async function scrape(query: (real: Query, text: string) => Promise<unknown>): Promise<string> {
    const known = register.getMetricsAsArray().flatMap(({ name }) => register.getSingleMetric(name) ?? []);
    register.clear();
    const { db } = await testDeps();
    const { master } = db.source.driver as unknown as { master: { query: Query } };
    const slow = { master: { query: (text: string) => query((same) => master.query(same), text) } };
    const source = new Proxy(db.source, {
      get: (target, key) => (key === 'driver' ? slow : bound(target, key)),
    });
    registerBacklogGauges(
      new Proxy(db, {
        get: (target, key) => (key === 'source' ? source : bound(target, key)),
      }),
      { ageSeconds: () => 61 },
    );
    try {
      return await register.metrics();
    } finally {
      register.clear();
      for (const metric of known) register.registerMetric(metric);
    }
  }
  type Query = (text: string) => Promise<unknown>;
  const bound = (target: object, key: string | symbol): unknown => {
    const value: unknown = Reflect.get(target, key, target);
    return typeof value === 'function' ? value.bind(target) : value;
  };

  it('are read one after the other, in one second at most each', async () => {
    let [running, most] = [0, 0];
    const texts: string[] = [];
    const metrics = await scrape(async (real, text) => {
      texts.push(text);
      most = Math.max(most, ++running);
      const rows = await real(text);
      running -= 1;
      return rows;
    });
    expect(most).to.equal(1);
    expect(texts.length).to.be.at.least(10);
    expect(texts.filter((text) => !text.startsWith('SET LOCAL statement_timeout = 1000; SELECT'))).to.deep.equal([]);
    expect(metrics)
      .to.match(/^facts_waiting \d+$/m)
      .and.to.match(/^workflow_rows_due\{workflow="webhookDelivery"\} \d+$/m)
      .and.to.match(/^workflow_rows_failing_age_seconds\{workflow="studentImport"\} 0$/m)
      .and.to.match(/^sweeper_round_age_seconds 61$/m)
      .and.not.to.match(/ nan$/im);
    const source = await testDatabase();
    const { master } = source.driver as unknown as { master: { query: Query } };
    const error: unknown = await master.query(`SET LOCAL statement_timeout = 20; SELECT pg_sleep(5)`).catch((e) => e);
    expect(error).to.have.property('code', '57014');
    expect(await source.query('SHOW statement_timeout')).to.deep.equal([{ statement_timeout: '30s' }]);
  });

  it('have no value in /metrics after 5 s, but the other metrics are served', async () => {
    await withTimersStopped(async (advance) => {
      const scraping = scrape(() => new Promise(() => {}));
      await new Promise((resolve) => setImmediate(resolve));
      await advance(5_000);
      const metrics = await scraping;
      expect(metrics)
        .to.match(/^facts_waiting Nan$/m)
        .and.to.match(/^sweeper_round_age_seconds 61$/m);
    });
  });
});
