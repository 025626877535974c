import { mock } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { rescueOverdue } from '../../platform/engine/sweeper.ts';
import { startWorker, type RunningWorker } from '../../worker/main.ts';
import { testConfig } from '../toolkit/drive/api.ts';
import { until } from '../toolkit/drive/until.ts';
import { startPostgresLine, type PostgresLine } from '../toolkit/fakes/postgres-line.ts';
import { testDeps } from '../toolkit/stack/database.ts';
import { quietRuntime } from '../toolkit/stack/time-skipping.ts';
import { workflowBundleFile } from '../toolkit/stack/stack.ts';
import { endLeftRuns } from '../toolkit/stack/worker.ts';

describe('GET /readyz of a worker', function () {
  this.timeout(60_000);
  let line: PostgresLine;
  let worker: RunningWorker;
  /** Every 30 s the worker reads the time of the sweeper's last round, and the clock of Postgres. */
  let queries: (() => void)[];
  before('start a worker whose connection to Postgres can hang', async () => {
    await endLeftRuns();
    quietRuntime();
    line = await startPostgresLine();
    await rescueOverdue((await testDeps()).db, new Date()); // so that the worker finds a complete round at its start
    const intervals = mock.method(globalThis, 'setInterval');
    worker = await startWorker(
      await testConfig({
        DATABASE_URL: line.url,
        WORKFLOW_BUNDLE_FILE: await workflowBundleFile(),
        WORKER_TASK_QUEUES: 'upkeep,media',
        FFMPEG_BINARY: '/nowhere/ffmpeg',
      }),
    );
    const every30s = intervals.mock.calls.filter(({ arguments: [, ms] }) => ms === 30_000);
    queries = every30s.map(({ arguments: [ask] }) => ask);
    intervals.mock.restore();
  });
  after('stop the worker', async () => {
    await worker?.stop();
    line?.stop();
  });

  const get = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${worker.port}${path}`);
    return { status: response.status, text: await response.text() };
  };

  it('returns 200 while the worker takes work', async () => {
    expect(await get('/readyz')).to.deep.equal({ status: 200, text: '{"status":"ready"}' });
  });

  it('does not report a missing ffmpeg, unlike /healthz (MED-24)', async () => {
    expect(await get('/healthz')).to.deep.equal({ status: 200, text: '{"status":"ok","ffmpeg":"missing"}' });
  });

  it('returns 503 when Postgres has not answered for 15 s', async () => {
    line.fallSilent();
    await sleep(100); // packets that are already sent arrive first
    expect((await get('/readyz')).status, 'after a short silence').to.equal(200);
    const now = performance.now.bind(performance);
    const clock = mock.method(performance, 'now', () => now() + 15_000);
    try {
      expect(await get('/readyz')).to.deep.equal({ status: 503, text: '{"status":"not_ready"}' });
      expect((await get('/healthz')).status).to.equal(200);
      line.speakAgain();
      await until('its readiness', { timeoutMs: 10_000 }, async () => (await get('/readyz')).status === 200);
    } finally {
      clock.mock.restore();
      line.speakAgain();
    }
  });

  it('returns 503 after 10 minutes without a round of the sweeper (ENG-5)', async () => {
    const now = Date.now();
    const clock = mock.method(Date, 'now', () => now + 10 * 60_000 + 60_000);
    const late = await get('/readyz');
    clock.mock.restore();
    expect([late.status, (await get('/readyz')).status]).to.deep.equal([503, 200]);
  });

  it('returns 503 while the clocks of worker and Postgres differ by more than 60 s (DEC-99)', async () => {
    const answersAs = async (status: number) => {
      for (const ask of queries) ask();
      await until(`the status ${status}`, { timeoutMs: 10_000 }, async () => {
        return (await get('/readyz')).status === status;
      });
    };
    const now = Date.now.bind(Date);
    const clock = mock.method(Date, 'now', () => now() + 5 * 60_000);
    try {
      await answersAs(503);
    } finally {
      clock.mock.restore();
    }
    const [, offset] = /^clock_offset_seconds (\S+)$/m.exec((await get('/metrics')).text) ?? [];
    expect(Number(offset)).to.be.within(295, 300);
    expect((await get('/healthz')).status).to.equal(200);
    await answersAs(200);
    expect((await get('/metrics')).text).to.match(/^clock_offset_seconds 0$/m);
  });

  it('uses the age of the sweeper’s last round, which /metrics also shows (ENG-5)', async () => {
    const age = async () => Number(/^sweeper_round_age_seconds (\S+)$/m.exec((await get('/metrics')).text)?.[1]);
    await until('the first answer', { timeoutMs: 5_000 }, async () => Number.isFinite(await age()));
    const now = Date.now();
    const clock = mock.method(Date, 'now', () => now + 3_600_000);
    try {
      expect(await age()).to.be.within(3_500, 3_700);
    } finally {
      clock.mock.restore();
    }
  });
});

describe('GET /readyz of a worker whose build is not promoted', function () {
  this.timeout(60_000);

  it('returns 503 with the reason, one minute after the start (ENG-19)', async () => {
    quietRuntime();
    const worker = await startWorker(
      await testConfig({ WORKFLOW_BUNDLE_FILE: await workflowBundleFile(), WORKER_TASK_QUEUES: 'moves' }),
      {},
      { version: '0.3.0', buildId: 'abc' },
    );
    const now = Date.now();
    const clock = mock.method(Date, 'now', () => now + 60_000);
    try {
      const response = await fetch(`http://127.0.0.1:${worker.port}/readyz`);
      expect([response.status, await response.text()]).to.deep.equal([
        503,
        '{"status":"not_ready","reason":"not_promoted"}',
      ]);
    } finally {
      clock.mock.restore();
      await worker.stop();
    }
  });
});
