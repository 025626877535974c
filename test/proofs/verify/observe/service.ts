/**
 * Observes the real service with a real Prometheus. No alert may fire during the tour, and each part that the proof breaks must make its
 * alert fire. One trace must connect a sign-up with the receiver of its webhook. The logs, labels and spans must contain no name and no
 * secret.
 */
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { startChild, type Child } from '../../../../dev/stack/children.ts';
import { runCommand } from '../../../../dev/stack/commands.ts';
import { locate } from '../../../../dev/components.ts';
import { components } from '../../../../dev/components/catalogue.ts';
import { alerts, type AlertName } from '../../../../dev/alerts/rules-file.ts';
import { seriesIn } from '../../../../dev/alerts/promql.ts';
import { startFakeModel } from '../../../../dev/fake-model/fake-model.ts';
import { freePorts, host } from '../../../../dev/stack/ports.ts';
import { Problem } from '../../../../dev/problem.ts';
import { projectDirectory, scriptArguments } from '../../../../dev/project.ts';
import { untilOk } from '../../../../dev/stack/readiness.ts';
import type { Stack } from '../../../../dev/stack/stack.ts';
import { runTour } from '../../../../dev/tour/tour.ts';
import { progress } from '../../faults/progress.ts';
import { startStackOn, type Site } from '../site.ts';
import { needlesOf, requireClean } from './needles.ts';
import { startPrometheus } from './prometheus.ts';
import { requireTraceOfASignUp, startSpanReceiver } from './spans.ts';

const readyWithinMs = 120_000;
/**
 * The time limit until an alert fires. It is longer than the time between two updates of any gauge. The gauges of the clocks and of the
 * sweeper are updated every 30 s.
 */
const firesWithinMs = 60_000;
const calmMs = 15_000;

interface Observation {
  fired: AlertName[];
  false: string[];
}

/** @throws Problem when a rule uses a series that the service does not have, or when no alert fires for a broken part */
export async function watchService(site: Site): Promise<Observation> {
  const stack = await startStackOn(site);
  const ports = await freePorts(['api', 'metrics', 'files', 'worker']);
  const model = await startFakeModel({ delayMs: 1 });
  site.stops.push(() => model.stop());
  const spanReceiver = await startSpanReceiver();
  site.stops.push(() => spanReceiver.stop());
  const env = {
    ...process.env,
    ...stack.environment,
    LOG_LEVEL: 'debug',
    OTEL_EXPORTER_OTLP_ENDPOINT: spanReceiver.url,
    OTEL_BSP_SCHEDULE_DELAY: '500',
    PUBLIC_URL: `http://${host}:${ports.api}`,
    FILES_URL: `http://${host}:${ports.files}`,
    AUTOMATION_WAIT_SPEED: '3600',
    ANTHROPIC_BASE_URL: model.url,
    ANTHROPIC_API_KEY: 'fake',
    FFMPEG_BINARY: await locate(components.ffmpeg),
    API_PORT: String(ports.api),
    API_METRICS_PORT: String(ports.metrics),
    FILES_PORT: String(ports.files),
    WORKER_PORT: String(ports.worker),
  };
  await runCommand(process.execPath, scriptArguments('main.ts').concat('migrate'), { env, cwd: projectDirectory });
  await start(site, 'api', ports.api, env);
  const worker = await start(site, 'worker', ports.worker, env);
  const prometheus = await startPrometheus(site, { api: ports.metrics, worker: ports.worker });
  progress('API, worker and Prometheus run');

  const tour = await runTour({ environment: env, authority: stack.authority, say() {} });
  await tour.stop();
  progress('the tour has ended');
  await sleep(calmMs);
  const observation: Observation = { fired: [], false: [...(await prometheus.firingAlerts())] };
  const pages = [ports.metrics, ports.worker].map(async (port) =>
    (await fetch(`http://${host}:${port}/metrics`)).text(),
  );
  requireServed(await Promise.all(pages));
  const needles = await askPostgres(stack, needlesOf);
  progress(`searching ${needles.length} names, addresses and URLs in logs, labels and spans`);
  progress(`one trace connects a sign-up with the receiver, with ${requireTraceOfASignUp(spanReceiver.spans())} spans`);
  requireClean({ 'the labels of metrics': await prometheus.series(), spans: spanReceiver.text() }, needles);
  const fire = async (names: readonly AlertName[]) => {
    await prometheus.untilFiring(names, firesWithinMs);
    observation.fired.push(...names);
    progress(`fired: ${names.join(', ')}`);
  };

  await askPostgres(stack, breakRows);
  await fire(['FactsLate', 'RelayFails', 'RowsFail', 'PartitionMissing', 'SweeperAway']);

  await kill(worker);
  await fire(['ProcessAway']);
  await start(site, 'worker', ports.worker, { ...env, FFMPEG_BINARY: '/nowhere', CLOCK_OFFSET_MS: '20000' }, [
    '--import',
    path.join(projectDirectory, 'test', 'run', 'shifted-clock.mjs'),
  ]);
  await fire(['FfmpegMissing', 'ClockWrong']);

  await stack.kill('postgres');
  for (let round = 0; round < 10; round++) await askInVain(ports.api);
  await fire(['RequestsRefused']);
  const logs = fs
    .globSync('logs/*', { cwd: site.directory })
    .map((file) => [`the log ${file}`, fs.readFileSync(path.join(site.directory, file), 'utf8')]);
  requireClean(Object.fromEntries(logs), needles);
  return observation;
}

async function start(
  site: Site,
  name: 'api' | 'worker',
  port: number,
  env: NodeJS.ProcessEnv,
  flags: readonly string[] = [],
): Promise<Child> {
  const child = startChild({
    name,
    command: process.execPath,
    args: [...flags, ...scriptArguments('main.ts'), name],
    cwd: projectDirectory,
    env,
    logFile: path.join(site.directory, 'logs', `${name}.log`),
  });
  site.stops.push(() => child.stop());
  await untilOk(`http://${host}:${port}/readyz`, { timeoutMs: readyWithinMs, child });
  return child;
}

async function kill({ pid, exited }: Child): Promise<void> {
  if (pid === undefined) throw new Problem('The worker has no process id');
  process.kill(pid, 'SIGKILL');
  await exited;
}

/**
 * @param pages `/metrics` of both processes. They name the type of a counter with labels before its first series.
 * @throws Problem with the metrics that a rule needs and no page has
 */
function requireServed(pages: readonly string[]): void {
  const typed = new Set(pages.flatMap((page) => [...page.matchAll(/^# TYPE (\w+) /gm)].map(([, name = '']) => name)));
  const ruleMetrics = Object.values(alerts).flatMap(({ expr }) => seriesIn(expr).map(({ name }) => name));
  const missing = ruleMetrics.filter(
    (name) => name !== 'up' && !typed.has(name) && !typed.has(name.replace(/_(bucket|count|sum)$/, '')),
  );
  if (missing.length > 0) throw new Problem(`Neither process serves ${[...new Set(missing)].join(', ')}`);
  progress(`${new Set(ruleMetrics).size} metrics that rules ask for are served`);
}

/**
 * Writes broken rows: a fact that is due only tomorrow, a failed step, a delivery without a partition, and an old round of the sweeper.
 */
async function breakRows(client: pg.Client): Promise<void> {
  await client.query(
    `INSERT INTO facts (id, club_id, type, student_id, occurred_at, recorded_at, due_at, attempt_count)
     SELECT gen_random_uuid(), gen_random_uuid(), 'student.created', gen_random_uuid(), now(), now() - interval '1 h', now() + interval '1 d', 3`,
  );
  // Inserts a copy of a delivery with a time that no partition covers.
  await client.query(
    `INSERT INTO webhook_deliveries
     SELECT moved.* FROM (SELECT * FROM webhook_deliveries LIMIT 1) one,
            jsonb_populate_record(one::webhook_deliveries, '{"id": "ffffffff-ffff-7fff-bfff-ffffffffffff"}') moved`,
  );
  await client.query(
    `INSERT INTO failing_steps (workflow_id, workflow_type, fault_count, error_code, failing_since, retry_at)
     VALUES ('webhook-delivery/2', 'webhookDelivery', 9, 'Error', now() - interval '20 min', now() + interval '10 min')`,
  );
  // The schedule of the sweeper continues, but its rounds are recorded with an old time.
  await client.query(
    `CREATE FUNCTION long_ago() RETURNS trigger LANGUAGE plpgsql AS
     $$ BEGIN NEW.completed_at := now() - interval '20 min'; RETURN NEW; END $$`,
  );
  await client.query(
    `CREATE TRIGGER long_ago BEFORE INSERT OR UPDATE ON upkeep_rounds FOR EACH ROW EXECUTE FUNCTION long_ago()`,
  );
  await client.query(`UPDATE upkeep_rounds SET completed_at = completed_at`);
}

async function askPostgres<T>({ environment }: Stack, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: environment['DATABASE_URL'] });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Calls a route that checks credentials. While the rate limiter cannot count, the API must refuse such calls. */
async function askInVain(port: number): Promise<void> {
  await fetch(`http://${host}:${port}/v1/auth/sign-in`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      club_id: '00000000-0000-7000-8000-000000000000',
      email: 'a@example.com',
      password: 'correct horse battery',
    }),
  });
  await sleep(1_000);
}
