/** `npm run bench -- webhooks`: deliveries a second beside the bare engine, and the time from commit to arrival. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { readConfig } from '../config.ts';
import { startReceiver, type Receiver } from '../dev/receiver.ts';
import { createBell } from '../domain/core/bell.ts';
import { inTransaction, type Database } from '../domain/core/database.ts';
import { newId, type Id } from '../domain/core/ids.ts';
import { createVault } from '../domain/core/secrets.ts';
import { recordFact } from '../domain/facts/facts.ts';
import { newSecret } from '../domain/webhooks/signature.ts';
import { createDataSource } from '../entities/data-source.ts';
import { migrate } from '../entities/migrate.ts';
import { median, onFreshStack, progress, quantile, report, reportBeside, type Round } from './support.ts';

const rounds = 3;
/** Facts committed at once in a round, spread over so many clubs: long enough that start and end weigh little. */
const factsARound = 1_000;
const clubs = 10;
/** Latency is measured at a pace that leaves the machine idle in between. */
const latency = { facts: 150, everyMs: 200 };

export async function benchWebhooks(): Promise<void> {
  await onFreshStack(['temporal', 'postgres'], async ({ stack, env, launch }) => {
    const config = readConfig(env);
    const source = await createDataSource(config.database, 'club-bench').initialize();
    await migrate(source);
    const database = { source, bell: createBell(source, () => {}) };
    const arrivals = new Map<string, number>();
    const receiver = await startReceiver({
      certificate: await stack.authority.issue(['127.0.0.1']),
      respond: (request) => {
        arrivals.set(request.headers['webhook-id'] ?? '', performance.now());
        return { status: 204 };
      },
    });
    const students = await seed(source, config.masterKey, receiver);
    await launch('worker/main.ts', 'WORKER_PORT');
    const { port } = await launch('bench/ceiling/worker.ts', 'CEILING_PORT');

    progress('warming up');
    await deliver(database, students, 200);
    await bareEngine(port, 200);
    const delays = await measureLatency(database, students, arrivals);
    const measured: Round[] = [];
    // In turns, so that a slow spell of the machine falls on both.
    for (let round = 1; round <= rounds; round++) {
      const figures = {
        ours: await deliver(database, students, factsARound),
        bare: await bareEngine(port, factsARound),
      };
      measured.push(figures);
      progress(`round ${round}: ${figures.ours.toFixed(1)} deliveries/s, bare engine ${figures.bare.toFixed(1)}/s`);
    }
    await receiver.stop();
    await source.destroy();
    reportBeside('deliveries/s', measured);
    report('commit-to-arrival ms', { p50: median(delays), p99: quantile(delays, 0.99) });
  });
}

interface Seeded {
  clubId: Id;
  studentId: Id;
}

/** Clubs with a student and an endpoint each. */
async function seed(
  source: DataSource,
  masterKey: ReturnType<typeof readConfig>['masterKey'],
  receiver: Receiver,
): Promise<Seeded[]> {
  const vault = createVault(masterKey);
  const seeded: Seeded[] = [];
  for (let number = 0; number < clubs; number++) {
    const [clubId, studentId, endpointId] = [newId(), newId(), newId()];
    await source.query(`INSERT INTO clubs (id, name, slug, created_at) VALUES ($1, $2, $2, now())`, [
      clubId,
      `club-${number}`,
    ]);
    await source.query(
      `INSERT INTO students (id, club_id, name, email, created_at) VALUES ($1, $2, 'Student', $3, now())`,
      [studentId, clubId, `student-${number}@example.com`],
    );
    await source.query(
      `INSERT INTO webhook_endpoints (id, club_id, url, event_types, secret, created_at, updated_at)
       VALUES ($1, $2, $3, '{student.updated}', $4, now(), now())`,
      [endpointId, clubId, `${receiver.url}/${number}`, vault.seal(newSecret(), endpointId)],
    );
    seeded.push({ clubId, studentId });
  }
  return seeded;
}

async function commitFact(database: Database, { clubId, studentId }: Seeded): Promise<Id> {
  return inTransaction(database, (tx) =>
    recordFact(tx, { clubId, type: 'student.updated', studentId, occurredAt: new Date() }),
  );
}

/** Commits so many facts and waits until each has its recorded 2xx. @returns deliveries a second */
async function deliver(database: Database, students: readonly Seeded[], count: number): Promise<number> {
  const succeeded = async () => {
    const [row] = await database.source.query<{ count: number }[]>(
      `SELECT count(*)::int AS count FROM webhook_deliveries WHERE status = 'succeeded'`,
    );
    return row?.count ?? 0;
  };
  const before = await succeeded();
  const started = performance.now();
  await Promise.all(
    Array.from({ length: count }, (_, index) => commitFact(database, students[index % students.length] as Seeded)),
  );
  while ((await succeeded()) < before + count) await sleep(25);
  return (count * 1_000) / (performance.now() - started);
}

/** @returns workflows a second of the engine alone */
async function bareEngine(port: number, count: number): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${port}/run?count=${count}`);
  const { perSecond } = (await answer.json()) as { perSecond: number };
  return perSecond;
}

/** @returns the milliseconds from each fact's commit to its arrival at the receiver */
async function measureLatency(
  database: Database,
  students: readonly Seeded[],
  arrivals: ReadonlyMap<string, number>,
): Promise<number[]> {
  const committed = new Map<Id, number>();
  for (let index = 0; index < latency.facts; index++) {
    const next = performance.now() + latency.everyMs;
    const id = await commitFact(database, students[index % students.length] as Seeded);
    committed.set(id, performance.now());
    await sleep(Math.max(0, next - performance.now()));
  }
  while ([...committed.keys()].some((id) => !arrivals.has(id))) await sleep(25);
  return [...committed].map(([id, at]) => (arrivals.get(id) ?? Number.NaN) - at);
}
