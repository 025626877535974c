/**
 * `npm run prove -- verify cluster` runs Temporal as a company would run it: two nodes of its server are behind a balancer. Runs and
 * visibility are in Postgres, with the configuration of deploy/compose.yaml. The command `setup` prepares the cluster, and `doctor` must
 * find no problem. API and worker handle facts, while the proof kills one node after the other. No fact may be lost or doubled, and a search by
 * attributes must find the run of each delivery. At the end the proof measures deliveries per second on the cluster and on the development
 * server.
 */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import type { DataSource } from 'typeorm';
import { deliverBacklog, insertClubs } from '../../../bench/webhooks/scene.ts';
import { median } from '../../../bench/support.ts';
import { readConfig, type Config } from '../../../config.ts';
import { allocatorSettings } from '../../../dev/stack/allocator.ts';
import { describeExit } from '../../../dev/stack/children.ts';
import { Problem } from '../../../dev/problem.ts';
import { until } from '../../../dev/stack/readiness.ts';
import { startReceiver } from '../../../dev/clients/receiver.ts';
import type { Stack } from '../../../dev/stack/stack.ts';
import { createDataSource } from '../../../entities/data-source.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { workflowIdOf } from '../../../platform/engine/workflow-types.ts';
import { Database } from '../../../platform/infra/postgres/database.ts';
import { createNotifier } from '../../../platform/infra/postgres/notifications.ts';
import { createVault } from '../../../platform/infra/keys/vault.ts';
import { buildAudience } from '../faults/audience.ts';
import { installBuilds, type InstalledBuild } from '../faults/deploy/builds.ts';
import { startService, type Service } from '../faults/deploy/service.ts';
import { factsAbout, type Author } from '../faults/facts.ts';
import { repeated, toItsEnd } from '../faults/processes.ts';
import { progress } from '../faults/progress.ts';
import { between } from '../faults/ranges.ts';
import { startCounting, type Receipts } from '../faults/receipts.ts';
import { tallyDeliveries, untilTold } from '../faults/tally.ts';
import { historyShards, serverVersion } from './cluster/configuration.ts';
import { startCluster, type Node, type TemporalCluster } from './cluster/nodes.ts';
import { findPrograms } from './cluster/programs.ts';
import { makeStore } from './cluster/store.ts';
import { startStackOn, type Site } from './site.ts';

type Environment = Readonly<Record<string, string>>;

const facts = 1_000;
/** Each node is killed twice. */
const kills = 4;
/** Each club has one endpoint, so each fact makes one delivery and one run. */
const endpointsOfAClub = 1;
/**
 * Facts are committed during this time around each kill. In about this time the other node takes over, and the killed node returns.
 */
const shareMs = 15_000;
const everyMs = (shareMs * kills) / facts;
const killedAfterMs = { least: 1_000, most: 3_000 };
const deadForMs = { least: 0, most: 2_000 };
/**
 * The time limit for a takeover. It is long, because the cluster notices a dead node only after a while, and then moves the shards one by
 * one.
 */
const takenOverWithinMs = 60_000;
/** The time limit for the next delivery after a takeover. Calls to the dead node must first fail and be repeated. */
const flowingWithinMs = 30_000;
/** The time limit for the last delivery. After a failed attempt, the next attempt waits half a minute. The sweeper needs three minutes. */
const deadlineMs = 5 * 60_000;
/** The time limit until a search finds a run. Temporal writes the search data later than the run, from a separate queue. */
const visibleWithinMs = 60_000;

/** The settings for the measurement of a server. Each round delivers `facts` facts that already wait when the round begins. */
const measurement = { rounds: 5, facts: 500, warmUp: 300, clubs: 10 } as const;

/** @throws Problem when a fact is lost or doubled, when a search does not find a run, or when a process ends */
export async function verifyCluster(site: Site): Promise<string> {
  const programs = await findPrograms();
  const { port: build } = await installBuilds(path.join(site.directory, 'builds'));
  const stack = await startStackOn(site, { durable: true });
  await stack.kill('temporal'); // the proof starts the development server again for its measurement
  const developmentEnv = {
    PATH: process.env['PATH'] ?? '',
    LOG_LEVEL: 'warn',
    ...allocatorSettings,
    ...stack.environment,
  };
  const store = await makeStore(stack.environment['DATABASE_URL'] ?? '', programs.sqlTool);
  const cluster = await startCluster(site, programs.server, store);
  progress(`Temporal ${serverVersion}: ${await standing(cluster.nodes)}`);
  const env = { ...developmentEnv, TEMPORAL_ADDRESS: cluster.address, TEMPORAL_NAMESPACE: 'made-by-setup' };
  return Promise.race([prove({ site, build, stack, cluster, env, developmentEnv }), cluster.broken]);
}

interface Scene {
  readonly site: Site;
  readonly build: InstalledBuild;
  readonly stack: Stack;
  readonly cluster: TemporalCluster;
  readonly env: Environment;
  readonly developmentEnv: Environment;
}

async function prove(scene: Scene): Promise<string> {
  const { site, build, stack, cluster, env } = scene;
  for (const command of ['migrate', 'setup', 'doctor']) await toItsEnd(build.run(command, env));
  const config = readConfig(env);
  const source = await createDataSource(config.database, 'club-verify').initialize();
  site.stops.push(() => source.destroy());
  const db = new Database(
    source,
    createNotifier(source, () => {}),
  );
  const arrivals: number[] = [];
  const receipts = await startCounting(
    await stack.authority.issue(['127.0.0.1']),
    () => void arrivals.push(performance.now()),
  );
  site.stops.push(receipts.stop);

  const result = await withService(scene, env, async ({ apiUrl }) => {
    const vault = createVault(config.masterKey);
    const subjects = await buildAudience(source, vault, facts, receipts.urlOf, () => endpointsOfAClub);
    const author = factsAbout(subjects, { db, apiUrl, everyMs });
    await killInTurn(cluster, author, receipts);
    progress(
      `${author.committed} facts are committed, ${receipts.events} received; the longest silence was ${longestGap(arrivals)} s`,
    );
    await untilTold(source, deadlineMs);
    const tally = await tallyDeliveries(source, subjects, receipts);
    const missing = await missingRuns(source, config.temporal);
    progress(
      `${author.repeated} calls and transactions repeated, ${receipts.refused} requests refused, ${receipts.duplicates} came twice`,
    );
    progress(await delays(source));
    requireWhole({ ...tally, missing, duplicates: receipts.duplicates });
    return { ...tally, missing, onCluster: await throughput(scene, db, config) };
  });
  await cluster.stop();
  await repeated(() => stack.startAgain('temporal'));
  await toItsEnd(build.run('setup', scene.developmentEnv));
  const onDevelopment = await withService(scene, scene.developmentEnv, () => throughput(scene, db, config));
  progress(`deliveries/s: cluster ${result.onCluster.toFixed(1)}, development server ${onDevelopment.toFixed(1)}`);
  const foundRuns = result.facts - result.missing.length;
  return `cluster: nodes ${cluster.nodes.length}, kills ${kills}, facts ${result.facts}, lost ${result.lostFacts.length}, runs found by search attribute ${foundRuns}`;
}

interface Outcome {
  readonly facts: number;
  readonly lostFacts: readonly string[];
  readonly missing: readonly string[];
  /** The number of doubled requests. It must be 0, because the kill of a node does not interrupt the attempts of the worker. */
  readonly duplicates: number;
}

/** @throws Problem with all faults */
function requireWhole(outcome: Outcome): void {
  const wrong = [
    ...outcome.lostFacts.map((fact) => `lost: ${fact}`),
    ...outcome.missing.map((id) => `not found by its search attributes: ${id}`),
    ...(outcome.duplicates > 0 ? [`came twice: ${outcome.duplicates}`] : []),
    ...(outcome.facts === facts ? [] : [`Postgres has ${outcome.facts} of ${facts} facts`]),
  ];
  if (wrong.length > 0) throw new Problem(wrong.join('\n'));
}

async function withService<T>(
  { site, build }: Scene,
  env: Environment,
  work: (service: Service) => Promise<T>,
): Promise<T> {
  const service = await startService(build, env, site.stops);
  const ended = service.children.map(async (child) => {
    const exit = await child.exited;
    throw new Problem(describeExit(child, exit));
  });
  const working = async () => {
    await toItsEnd(build.run('promote', env));
    return work(service);
  };
  try {
    return await Promise.race([working(), ...ended]);
  } finally {
    await service.kill();
    await Promise.allSettled(ended);
  }
}

async function killInTurn(cluster: TemporalCluster, author: Author, receipts: Receipts): Promise<void> {
  const [first, second] = cluster.nodes;
  for (let kill = 0; kill < kills; kill++) {
    const [victim, other] = kill % 2 === 0 ? [first, second] : [second, first];
    await Promise.all([killOne(victim, other, author, receipts), author.commit(facts / kills)]);
    progress(`${author.committed} facts committed, ${receipts.events} received; ${await standing(cluster.nodes)}`);
  }
}

async function killOne(victim: Node, other: Node, author: Author, receipts: Receipts): Promise<void> {
  await sleep(between(killedAfterMs));
  const killedAt = performance.now();
  const seconds = () => ((performance.now() - killedAt) / 1_000).toFixed(1);
  await victim.kill();
  progress(`killed ${victim.name}`);
  await until(`${other.name}, which must take over all shards,`, () => expectAll(other), {
    timeoutMs: takenOverWithinMs,
  });
  const takenOver = seconds();
  const before = receipts.events;
  await until('A delivery by the other node', async () => expectMore(author, receipts, before), {
    timeoutMs: flowingWithinMs,
  });
  progress(`${other.name} has all ${historyShards} shards after ${takenOver} s, and delivers`);
  await sleep(between(deadForMs));
  await victim.start();
  progress(`${victim.name} is back after ${seconds()} s`);
}

async function expectAll(node: Node): Promise<void> {
  const shards = await node.shards();
  if (shards < historyShards) throw new Error(`it has ${shards} of ${historyShards}`);
}

function expectMore({ committed }: Author, { events }: Receipts, before: number): void {
  if (events === before && events < committed) throw new Error(`${committed} facts are committed, ${events} received`);
}

async function standing(nodes: readonly Node[]): Promise<string> {
  const shares = nodes.map(async (node) => `${node.name} has ${await node.shards()} shards`);
  return (await Promise.all(shares)).join(', ');
}

/** @param times in milliseconds */
function longestGap(times: readonly number[]): string {
  const gaps = times.slice(1).map((time, index) => time - (times[index] ?? time));
  return (Math.max(0, ...gaps) / 1_000).toFixed(1);
}

/** Measures the time from a fact to its recorded delivery, without deliveries that a receiver refused. */
async function delays(source: DataSource): Promise<string> {
  const [row] = await source.query<{ p50: number; p99: number; most: number }[]>(
    `SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY took) AS p50, percentile_cont(0.99) WITHIN GROUP (ORDER BY took) AS p99,
            max(took) AS most
       FROM (SELECT extract(epoch FROM delivery.completed_at - event.occurred_at)::float8 AS took
               FROM webhook_deliveries delivery JOIN webhook_events event ON event.id = delivery.event_id
              WHERE delivery.attempt_count = 1) AS one`,
  );
  const seconds = (value = NaN) => `${value.toFixed(2)} s`;
  return `from a fact to its delivery: p50 ${seconds(row?.p50)}, p99 ${seconds(row?.p99)}, at most ${seconds(row?.most)}`;
}

interface Delivery {
  id: Id;
  endpointId: Id;
}

/** Searches runs as docs/how-to/find-a-run.md does, by endpoint and event type. */
async function missingRuns(source: DataSource, { namespace, address }: Config['temporal']): Promise<string[]> {
  const deliveries = await source.query<Delivery[]>('SELECT id, endpoint_id AS "endpointId" FROM webhook_deliveries');
  const endpoints = [...new Set(deliveries.map(({ endpointId }) => endpointId))];
  const connection = await Connection.connect({ address });
  try {
    const { workflow } = new Client({ connection, namespace });
    const deadline = performance.now() + visibleWithinMs;
    for (;;) {
      const foundIds = new Set<string>();
      for (const endpointId of endpoints) {
        const query = `EndpointId = '${endpointId}' AND EventType = 'student.updated' AND ExecutionStatus = 'Completed'`;
        for await (const { workflowId } of workflow.list({ query })) foundIds.add(workflowId);
      }
      const missing = deliveries.map(({ id }) => workflowIdOf('webhookDelivery', id)).filter((id) => !foundIds.has(id));
      if (missing.length === 0 || performance.now() > deadline) return missing;
      await sleep(1_000);
    }
  } finally {
    await connection.close();
  }
}

async function throughput(
  { site, stack }: Scene,
  db: Database,
  { masterKey }: Pick<Config, 'masterKey'>,
): Promise<number> {
  const arrivals = new Map<Id, number>();
  const receiver = await startReceiver({
    certificate: await stack.authority.issue(['127.0.0.1']),
    respond({ headers }) {
      arrivals.set(headers['webhook-id'] ?? '', performance.now());
      return { status: 204 };
    },
  });
  site.stops.push(receiver.stop);
  const urls = Array.from({ length: measurement.clubs }, () => receiver.url);
  const clubs = await insertClubs(db.source, createVault(masterKey), urls);
  await deliverBacklog(db, clubs, arrivals, measurement.warmUp);
  const rates: number[] = [];
  while (rates.length < measurement.rounds) {
    const rate = await deliverBacklog(db, clubs, arrivals, measurement.facts);
    progress(`round ${rates.push(rate)}: ${rate.toFixed(1)} deliveries/s`);
  }
  return median(rates);
}
