/** `node dist/main.js migrate` brings the database to the newest schema. Several processes may call it at once. */
import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig } from '../config.ts';
import { untilMayContract } from '../platform/infra/postgres/contractions.ts';
import { withClient } from '../platform/infra/postgres/role-limits.ts';
import { listeningMistakes, unusable } from '../platform/infra/postgres/start-checks.ts';
import { runOnce, throwMistakes } from '../platform/infra/process.ts';
import { StartProblem } from '../platform/core/start-problem.ts';
import { isLockTimeout } from '../platform/infra/postgres/database.ts';
import { createDataSource } from '../entities/data-source.ts';
import type { DataSource, QueryRunner } from 'typeorm';

/** Any number would do: it names the lock that lets one process at a time migrate. */
const migrationLock = 4_281_963;
/** Asked for again and again: CREATE INDEX CONCURRENTLY waits for every statement under way, one that waits for this lock too. */
const lookEveryMs = 200;

/** How long a migration is tried again that does not get its locks: a backup or a report holds them meanwhile. */
const lockedWithinMs = 60 * 60_000;
/** Those who waited behind it go first. */
const lockPauseMs = 3_000;
/** TypeORM's own. */
const migrationsTable = 'migrations';

/** How long migrations that take something away wait for older processes to end: an answer's 13 minutes, and a margin. */
const contractWithinMs = 15 * 60_000;

/**
 * Runs the pending migrations under an advisory lock.
 * @param source without limits of time: a migration, or the process that one waits for, may take long
 * @param withinMs how long those that take something away wait for older processes to end
 * @returns their names
 * @throws StartProblem naming older processes that still run then
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

/** Each migration is a transaction, so that one which did not get its locks in time has done nothing. @returns the names of what ran */
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
      process.stdout.write('A migration waits for somebody who holds its tables, and tries again.\n');
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

/** The command `migrate`: prints the migrations that it has run. */
export async function main(): Promise<void> {
  await runOnce('Migration failed', async () => {
    const { database } = readConfig();
    const looking = withClient(database.url.reveal(), (client) => listeningMistakes(database, client));
    // The lock of a session means nothing where a pooler mixes sessions up, as LISTEN does not.
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
