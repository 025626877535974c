/** What the webhook measurements act on: clubs with an endpoint each, receivers that listen, and facts that are committed. */
import type { DataSource } from 'typeorm';
import { readConfig, type Config } from '../../config.ts';
import type { Child } from '../../dev/children.ts';
import type { Stack } from '../../dev/stack.ts';
import { startReceiver, type ReceiverOptions } from '../../dev/receiver.ts';
import { createNotifier } from '../../platform/infra/postgres/notifications.ts';
import { Database } from '../../platform/infra/postgres/database.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { createVault, type Vault } from '../../platform/infra/vault.ts';
import { recordFact } from '../../platform/engine/facts.ts';
import { newSecret } from '../../domain/webhooks/deliveries/post.ts';
import { createDataSource } from '../../entities/data-source.ts';
import { migrate } from '../../entities/migrate.ts';
import { onFreshStack, waitUntil, type Bench } from '../support.ts';

/** A club with one student and one endpoint. */
export interface BenchClub {
  clubId: Id;
  studentId: Id;
  endpointId: Id;
}

export interface Listener {
  url: string;
  /** By event: when it first arrived, by `performance.now()`. */
  arrivals: ReadonlyMap<Id, number>;
}

export interface Scene {
  db: Database;
  vault: Vault;
  worker: { pid: number; port: number };
  /** Of the parts of the stack. */
  pids: Stack['pids'];
  launch: Bench['launch'];
  /** A receiver on this machine. @returns its address */
  addReceiver(respond: NonNullable<ReceiverOptions['respond']>): Promise<{ url: string }>;
  /** A receiver that accepts everything at once and notes when it came. @param arrivals shared with other listeners */
  addListener(arrivals?: Map<Id, number>): Promise<Listener>;
  /** A club with its endpoint for each of these addresses. */
  addClubs(urls: readonly string[]): Promise<BenchClub[]>;
  /** Removes every club and receiver, so that one measurement leaves nothing to the next. */
  clear(): Promise<void>;
}

/** Runs `measure` on a fresh stack with a worker. @param env of the worker, from that of the stack @param options of the stack */
export async function onWebhookScene(
  measure: (scene: Scene) => Promise<void>,
  env: (ofStack: Readonly<Record<string, string>>) => Promise<Record<string, string>> = async () => ({}),
  options: Parameters<typeof onFreshStack>[2] = {},
): Promise<void> {
  const onStack = async (bench: Bench) => {
    const config = readConfig(bench.env);
    const source = await createDataSource(config.database, 'club-bench').initialize();
    await migrate(source);
    const worker = await bench.launch('worker/main.ts', 'WORKER_PORT', await env(bench.env));
    await measure(await setScene(bench, config, source, worker));
    await source.destroy();
  };
  await onFreshStack(['temporal', 'postgres'], onStack, options);
}

async function setScene(
  { stack, launch }: Bench,
  { masterKey }: Config,
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
      clubs.push(...added);
      return added;
    },
    async clear() {
      // The receivers first: what hangs fails at once, and none of it is under way any more when the rows go.
      await Promise.all(stops.splice(0).map((stop) => stop()));
      const ids = clubs.splice(0).map(({ clubId }) => clubId);
      const nothingIsUnderWay = async () => (await countUnderWay(source)) === 0;
      await waitUntil('no attempt is under way', nothingIsUnderWay, { timeoutMs: 60_000, everyMs: 100 });
      await db.transaction((tx) => tx.manager.query(`DELETE FROM clubs WHERE id = ANY ($1)`, [ids]));
    },
  };
}

async function countUnderWay(source: DataSource): Promise<number> {
  const [row] = await source.query<{ count: number }[]>(
    `SELECT count(*)::int AS count FROM webhook_deliveries WHERE lease_until > clock_timestamp()`,
  );
  return row?.count ?? 0;
}

/** Commits one fact of the club. @returns the id of its event */
export async function commitFact(db: Database, club: BenchClub): Promise<Id> {
  const [id = ''] = await commitFacts(db, club, 1);
  return id;
}

/** Commits so many facts of the club at once, in one transaction. @returns the ids of their events */
export async function commitFacts(db: Database, { clubId, studentId }: BenchClub, count: number): Promise<Id[]> {
  return db.transaction(async (tx) => {
    const ids: Id[] = [];
    while (ids.length < count) {
      ids.push(await recordFact(tx, { clubId, type: 'student.updated', studentId, occurredAt: new Date() }));
    }
    return ids;
  });
}

/** Commits so many facts, each in its own transaction and all under way together, and waits until each has its recorded 2xx. */
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

/** @returns how many deliveries of these clubs have succeeded */
export async function countSucceeded({ source }: Database, clubs: readonly BenchClub[]): Promise<number> {
  const [row] = await source.query<{ count: number }[]>(
    `SELECT count(*)::int AS count FROM webhook_deliveries WHERE endpoint_id = ANY ($1) AND status = 'succeeded'`,
    [clubs.map(({ endpointId }) => endpointId)],
  );
  return row?.count ?? 0;
}
