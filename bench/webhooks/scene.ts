/** Clubs with one endpoint each, receivers, and facts for the webhook measurements. */
import type { DataSource } from 'typeorm';
import { readConfig, type Config } from '../../config.ts';
import type { Child } from '../../dev/stack/children.ts';
import type { PartName, Stack } from '../../dev/stack/stack.ts';
import { startReceiver, type ReceiverOptions } from '../../dev/clients/receiver.ts';
import { createNotifier } from '../../platform/infra/postgres/notifications.ts';
import { Database } from '../../platform/infra/postgres/database.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { createVault, type Vault } from '../../platform/infra/keys/vault.ts';
import { recordFact, recordFacts } from '../../platform/engine/facts.ts';
import { newSecret } from '../../domain/webhooks/endpoints/secrets.ts';
import { createDataSource } from '../../entities/data-source.ts';
import { migrate } from '../../commands/migrate.ts';
import { laneSettings, onFreshStack, progress, waitUntil, type Bench } from '../support.ts';
import { cpuDuring } from './process-cost.ts';

export interface BenchClub {
  clubId: Id;
  studentId: Id;
  endpointId: Id;
}

export interface Listener {
  url: string;
  /** The first arrival of each event, in `performance.now()`. */
  arrivals: ReadonlyMap<Id, number>;
}

export interface Scene {
  db: Database;
  databaseUrl: string;
  vault: Vault;
  worker: { pid: number; port: number };
  pids: Stack['pids'];
  launch: Bench['launch'];
  /** On this machine. @returns its address */
  addReceiver(respond: NonNullable<ReceiverOptions['respond']>): Promise<{ url: string }>;
  /** Accepts everything immediately, and records the arrivals. @param arrivals several listeners can fill one map together */
  addListener(arrivals?: Map<Id, number>): Promise<Listener>;
  /** One endpoint for each address. */
  addClubs(urls: readonly string[]): Promise<BenchClub[]>;
  /** Clears the scene, so that measurements do not affect each other. */
  clear(): Promise<void>;
}

/**
 * A fresh stack. The caller's environment chooses the lane. Postgres waits for the disk, as in production.
 * @param env makes the environment of the worker from the environment of the stack
 * @param parts the parts of the stack
 */
export async function onWebhookScene(
  measure: (scene: Scene) => Promise<void>,
  env: (ofStack: Readonly<Record<string, string>>) => Promise<Record<string, string>> = async () => ({}),
  parts: readonly PartName[] = ['temporal', 'postgres'],
): Promise<void> {
  const onStack = async (bench: Bench) => {
    const config = readConfig(bench.env);
    const source = await createDataSource(config.database, 'club-bench').initialize();
    await migrate(source);
    const ofWorker = { ...laneSettings(), ...(await env(bench.env)) };
    progress(`first attempts: ${ofWorker['WEBHOOK_FIRST_ATTEMPT'] ?? 'workflow'}`);
    const worker = await bench.launch('worker/main.ts', 'WORKER_PORT', ofWorker);
    await measure(await setScene(bench, config, source, worker));
    await source.destroy();
  };
  await onFreshStack(parts, onStack, { durable: true });
}

async function setScene(
  { stack, launch }: Bench,
  { masterKey, database }: Config,
  source: DataSource,
  { child: worker, port }: { child: Child; port: number },
): Promise<Scene> {
  if (worker.pid === undefined) throw new Error('The worker has no process id.');
  const certificate = await stack.authority.issue(['127.0.0.1']);
  const vault = createVault(masterKey);
  const db = new Database(
    source,
    createNotifier(source, () => {}),
  );
  const clubs: BenchClub[] = [];
  const stops: (() => Promise<void>)[] = [];

  const addReceiver: Scene['addReceiver'] = async (respond) => {
    const receiver = await startReceiver({ certificate, respond });
    stops.push(receiver.stop);
    return receiver;
  };
  return {
    db,
    databaseUrl: database.url.reveal(),
    vault,
    worker: { pid: worker.pid, port },
    pids: stack.pids,
    launch,
    addReceiver,
    async addListener(arrivals = new Map()) {
      const { url } = await addReceiver((request) => {
        const id = request.headers['webhook-id'] ?? '';
        if (!arrivals.has(id)) arrivals.set(id, performance.now());
        return { status: 204 };
      });
      return { url, arrivals };
    },
    async addClubs(urls) {
      const added = await insertClubs(source, vault, urls);
      clubs.push(...added);
      return added;
    },
    async clear() {
      // The receivers stop first, so hanging attempts fail immediately, and none is in progress when the rows are removed.
      await Promise.all(stops.splice(0).map((stop) => stop()));
      const ids = clubs.splice(0).map(({ clubId }) => clubId);
      const nothingIsUnderWay = async () => (await countUnderWay(source)) === 0;
      await waitUntil('no attempt is under way', nothingIsUnderWay, { timeoutMs: 60_000, everyMs: 100 });
      await db.transaction(async ({ manager }) => {
        const ofClubs = `WHERE club_id = ANY ($1)`;
        await manager.query(
          `DELETE FROM webhook_attempts WHERE delivery_id IN (SELECT id FROM webhook_deliveries ${ofClubs})`,
          [ids],
        );
        await manager.query(`DELETE FROM webhook_deliveries ${ofClubs}`, [ids]);
        await manager.query(`DELETE FROM webhook_bodies WHERE event_id IN (SELECT id FROM webhook_events ${ofClubs})`, [
          ids,
        ]);
        await manager.query(`DELETE FROM webhook_events ${ofClubs}`, [ids]);
        await manager.query(`DELETE FROM clubs WHERE id = ANY ($1)`, [ids]);
      });
    },
  };
}

/** One endpoint for each address. */
export async function insertClubs(source: DataSource, vault: Vault, urls: readonly string[]): Promise<BenchClub[]> {
  const added = urls.map((url) => ({ url, clubId: newId(), studentId: newId(), endpointId: newId() }));
  for (const { url, clubId, studentId, endpointId } of added) {
    await source.query(`INSERT INTO clubs (id, name, slug, created_at) VALUES ($1, 'Club', $2, now())`, [
      clubId,
      `club-${clubId}`,
    ]);
    await source.query(
      `INSERT INTO students (id, club_id, name, email, created_at) VALUES ($1, $2, 'Student', 'student@example.com', now())`,
      [studentId, clubId],
    );
    await source.query(
      `INSERT INTO webhook_endpoints (id, club_id, url, event_types, secret, created_at, updated_at)
       VALUES ($1, $2, $3, '{student.updated}', $4, now(), now())`,
      [endpointId, clubId, url, vault.seal(newSecret(), endpointId)],
    );
  }
  return added;
}

async function countUnderWay(source: DataSource): Promise<number> {
  const [row] = await source.query<{ count: number }[]>(
    `SELECT count(*)::int AS count FROM webhook_deliveries WHERE lease_until > clock_timestamp()`,
  );
  return row?.count ?? 0;
}

/** @returns the id of its event */
export async function commitFact(db: Database, club: BenchClub): Promise<Id> {
  const [id = ''] = await commitFacts(db, club, 1);
  return id;
}

/** In one transaction. @returns the ids of their events */
export async function commitFacts(db: Database, { clubId, studentId }: BenchClub, count: number): Promise<Id[]> {
  return db.transaction(async (tx) => {
    const ids: Id[] = [];
    while (ids.length < count) {
      ids.push(await recordFact(tx, { clubId, type: 'student.updated', studentId, occurredAt: new Date() }));
    }
    return ids;
  });
}

/** Commits the facts in parallel, each in its own transaction. Waits until each fact has a recorded 2xx. */
export async function deliver(db: Database, clubs: readonly BenchClub[], count: number): Promise<void> {
  const before = await countSucceeded(db, clubs);
  await Promise.all(
    Array.from({ length: count }, (_, index) => commitFact(db, clubs[index % clubs.length] as BenchClub)),
  );
  let delivered = 0;
  await waitUntil(
    `${count} facts are delivered`,
    async () => {
      delivered = (await countSucceeded(db, clubs)) - before;
      return delivered >= count;
    },
    { timeoutMs: 30_000 + 100 * count, progressSoFar: () => `${delivered} are` },
  );
}

export async function countSucceeded({ source }: Database, clubs: readonly BenchClub[]): Promise<number> {
  const [row] = await source.query<{ count: number }[]>(
    `SELECT count(*)::int AS count FROM webhook_deliveries WHERE endpoint_id = ANY ($1) AND status = 'succeeded'`,
    [clubs.map(({ endpointId }) => endpointId)],
  );
  return row?.count ?? 0;
}

/**
 * Waits until each fact has a recorded 2xx.
 * @param arrivals of all receivers
 * @returns deliveries a second, from the commit of the facts
 */
export async function deliverBacklog(
  db: Database,
  clubs: readonly BenchClub[],
  arrivals: ReadonlyMap<Id, number>,
  count: number,
): Promise<number> {
  const [arrivedBefore, before] = [arrivals.size, await countSucceeded(db, clubs)];
  await commitTogether(db, clubs, count);
  const started = performance.now();
  const timeoutMs = limitFor(count);
  const arrived = () => arrivals.size - arrivedBefore;
  const progressSoFar = () => `${arrived()} have arrived`;
  // Counting rows uses CPU, so rows are counted only after all deliveries have arrived.
  await waitUntil(`${count} facts arrive`, () => arrived() >= count, { timeoutMs, progressSoFar });
  const areRecorded = async () => (await countSucceeded(db, clubs)) - before >= count;
  await waitUntil(`${count} deliveries are recorded`, areRecorded, { timeoutMs, progressSoFar });
  return (count * 1_000) / (performance.now() - started);
}

/** Commits the facts in one transaction, in rotation over the clubs. @param from the club of the first fact */
export async function commitTogether(
  db: Database,
  seeded: readonly BenchClub[],
  count: number,
  from = 0,
): Promise<readonly Id[]> {
  if (count === 0) return [];
  const facts = Array.from({ length: count }, (_, index) => {
    const { clubId, studentId } = seeded[(from + index) % seeded.length] as BenchClub;
    return { clubId, studentId, type: 'student.updated', occurredAt: new Date() } as const;
  });
  return db.transaction((tx) => recordFacts(tx, facts));
}

/**
 * Prints the cost of a delivery during `work`: CPU time of each process, and bytes of the write-ahead log.
 * @param counted the number of deliveries, or a function of the result
 */
export async function withCost<Result>(
  { db, pids: { postgres = 0, temporal = 0 } }: Pick<Scene, 'db' | 'pids'>,
  name: string,
  pid: number | undefined,
  counted: number | ((result: Result) => number),
  work: () => Promise<Result>,
): Promise<Result> {
  const walBefore = await walBytes(db);
  const watched = {
    [name]: { pid: pid ?? 0 },
    postgres: { pid: postgres, withChildren: true },
    temporal: { pid: temporal },
    bench: { pid: process.pid },
  };
  const { result, cpu } = await cpuDuring(watched, work);
  const deliveries = typeof counted === 'number' ? counted : counted(result);
  const wal = ((await walBytes(db)) - walBefore) / deliveries;
  const ofEach = Array.from(cpu, ([process, ms]) => `${process} ${(ms / deliveries).toFixed(2)}`);
  progress(`CPU ms for each of ${deliveries}: ${ofEach.join(', ')}; WAL bytes ${wal.toFixed(0)}`);
  return result;
}

async function walBytes({ source }: Database): Promise<number> {
  const statement = `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS bytes`;
  const [row] = await source.query<{ bytes: number }[]>(statement);
  return row?.bytes ?? 0;
}

/** In milliseconds. */
export const limitFor = (count: number): number => 60_000 + 100 * count;
