/** `node dist/main.js migrate` brings the database to the newest schema. Several processes may call it at the same time. */
import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig } from '../config.ts';
import { untilMayContract } from '../platform/infra/postgres/checks/contractions.ts';
import { withClient } from '../platform/infra/postgres/checks/role-limits.ts';
import { listeningMistakes, unusable } from '../platform/infra/postgres/checks/start-checks.ts';
import { runOnce, throwMistakes } from '../platform/infra/process.ts';
import { StartProblem } from '../platform/core/start-problem.ts';
import { isLockTimeout } from '../platform/infra/postgres/database.ts';
import { createDataSource } from '../entities/data-source.ts';
import type { DataSource, QueryRunner } from 'typeorm';

/** An arbitrary number for the advisory lock that lets only one process migrate at a time. */
const migrationLock = 4_281_963;
/**
 * The process tries to get the lock again and again, and never waits for it inside a statement. The reason is that CREATE INDEX
 * CONCURRENTLY waits for all running statements, and so also for a statement that waits for this lock.
 */
const lookEveryMs = 200;

/** If a migration does not get its table locks, it is tried again for this time. A backup or a report may hold these locks. */
const lockedWithinMs = 60 * 60_000;
/** The pause before the next try. During the pause, the transactions that waited behind the migration can run. */
const lockPauseMs = 3_000;
const migrationsTable = 'migrations';

/**
 * The time for which migrations that drop columns or tables wait until older processes end. An older process may need 13 minutes, the
 * longest time of an agent's answer. This time is longer by a margin.
 */
const contractWithinMs = 15 * 60_000;

/**
 * Runs the pending migrations under an advisory lock.
 * @param source a connection without timeouts, because a migration may take long, and so may the wait for a second process
 * @param withinMs the maximum time for which migrations that drop columns or tables wait until older processes end
 * @returns the names of the migrations that ran
 * @throws StartProblem when older processes still run after `withinMs`; the message names these processes
 */
export async function migrate(source: DataSource, withinMs = contractWithinMs): Promise<string[]> {
  const holder = source.createQueryRunner();
  try {
    while (!(await takesLock(holder))) await sleep(lookEveryMs);
    await untilMayContract(source, withinMs);
    return await runWithPatience(source);
  } finally {
    await holder.query('SELECT pg_advisory_unlock($1)', [migrationLock]);
    await holder.release();
  }
}

/** Runs the pending migrations. Each migration is one transaction, so a migration that did not get its locks in time has no effect. */
async function runWithPatience(source: DataSource): Promise<string[]> {
  const names = async () => {
    const rows: { name: string }[] = await source.query(`SELECT name FROM ${migrationsTable} ORDER BY id`);
    return rows.map(({ name }) => name);
  };
  const [known] = await source.query<{ there: boolean }[]>(
    `SELECT to_regclass('${migrationsTable}') IS NOT NULL AS there`,
  );
  const before = new Set(known?.there ? await names() : []);
  const deadline = performance.now() + lockedWithinMs;
  for (;;) {
    try {
      await source.runMigrations();
      return (await names()).filter((name) => !before.has(name));
    } catch (error) {
      if (!isLockTimeout(error) || performance.now() > deadline) throw error;
      process.stdout.write('A migration waits because a transaction has locked its tables. It tries again.\n');
      await sleep(lockPauseMs);
    }
  }
}

async function takesLock(holder: QueryRunner): Promise<boolean> {
  const [row] = (await holder.query('SELECT pg_try_advisory_lock($1) AS taken', [migrationLock])) as {
    taken: boolean;
  }[];
  return row?.taken ?? false;
}

/** Runs the command `migrate`, and prints the migrations that ran. */
export async function main(): Promise<void> {
  await runOnce('Migration failed', async () => {
    const { database } = readConfig();
    const looking = withClient(database.url.reveal(), (client) => listeningMistakes(database, client));
    // Like LISTEN, a session lock does not work if a pooler shares connections between sessions.
    await throwMistakes([
      looking.catch((error: unknown) => {
        throw new StartProblem(unusable(error));
      }),
    ]);
    const source = await createDataSource(database, 'club-migrate', { patient: true }).initialize();
    try {
      const names = await migrate(source);
      process.stdout.write(names.length === 0 ? 'The schema is up to date.\n' : `Migrated: ${names.join(', ')}\n`);
      return 0;
    } finally {
      await source.destroy();
    }
  });
}

if (import.meta.main) await main();
