/** Migrations that drop columns or tables wait for processes of older versions, and prevent them from starting again. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { isContraction } from '../../../../entities/contraction.ts';
import { StartProblem } from '../../../core/start-problem.ts';
import type { Build } from '../../build.ts';
import { Queries } from '../database.ts';
import { isBefore, keepBeating, runningBefore } from './running-processes.ts';
import { sql } from '../sql.ts';

const lookEveryMs = 1_000;

/**
 * Runs before the pending migrations. Waits until every running process is new enough. From then on, older versions cannot start.
 * @param withinMs in milliseconds
 * @throws StartProblem with the names of the processes that still run
 */
export async function untilMayContract(source: DataSource, withinMs: number): Promise<void> {
  const db = new Queries(source.manager);
  if (!(await hasProcesses(db))) return; // the database is empty
  const appliedNames = new Set(
    (await db.rows<{ name: string }>(sql`SELECT name FROM migrations`)).map(({ name }) => name),
  );
  const pending = source.migrations
    .filter(isContraction)
    .filter(({ constructor }) => !appliedNames.has(constructor.name));
  const newest = pending.toSorted((one, other) => (isBefore(one.needs, other.needs) ? 1 : -1))[0];
  if (!newest) return;
  const { needs } = newest;
  const deadline = performance.now() + withinMs;
  for (;;) {
    const older = await runningBefore(db, needs);
    if (older.length === 0) {
      for (const { constructor, needs: least } of pending)
        await db.run(
          sql`INSERT INTO schema_contractions (migration, needs) VALUES (${constructor.name}, ${least}) ON CONFLICT DO NOTHING`,
        );
      if ((await runningBefore(db, needs)).length === 0) return;
      // An old process may have started just before the records. The migration waits for it, too, so older processes may start meanwhile.
      for (const { constructor } of pending)
        await db.run(sql`DELETE FROM schema_contractions WHERE migration = ${constructor.name}`);
    } else if (performance.now() > deadline) {
      const list = older.map((one) => `${one.name} of version ${one.version}`).join(', ');
      throw new StartProblem(
        `${newest.constructor.name} removes columns or tables that versions before ${needs} read, and such processes run: ${list}. Upgrade or end them, and run this command again.`,
      );
    }
    await sleep(lookEveryMs);
  }
}

/**
 * Records the process in Postgres, and then checks the schema again. So either a concurrent migration sees this process, or this check sees
 * the migration.
 * @param process.name `api` or `worker`
 * @param process.build undefined in a checkout
 * @param onFailure gets the errors of later heartbeats
 * @returns a function that stops the heartbeats, and records the end of the process
 * @throws StartProblem if the schema lacks something that this build reads
 */
export async function beginRunning(
  source: DataSource,
  { name, build }: { name: string; build: Build | undefined },
  onFailure: (error: unknown) => void,
): Promise<() => Promise<void>> {
  const stop = await keepBeating(new Queries(source.manager), name, build, onFailure);
  try {
    await checkContractions(source, build);
  } catch (error) {
    await stop();
    throw error;
  }
  return stop;
}

/** @throws StartProblem if the schema lacks something that this build reads */
export async function checkContractions(source: DataSource, build: Build | undefined): Promise<void> {
  if (!build) return; // a checkout has no version
  const db = new Queries(source.manager);
  const rows = await db.rows<{ needs: string }>(sql`SELECT needs FROM schema_contractions`);
  const mistake = contractionMistake(rows, build);
  if (mistake) throw new StartProblem(mistake);
}

/** @param contractions rows of `schema_contractions` */
export function contractionMistake(
  contractions: readonly { needs: string }[],
  { version }: Pick<Build, 'version'>,
): string | undefined {
  const beyond = contractions.find(({ needs }) => isBefore(version, needs));
  return (
    beyond &&
    `The schema is contracted: it lacks columns or tables that version ${version} reads. Run version ${beyond.needs} or a later one.`
  );
}

async function hasProcesses(db: Queries): Promise<boolean> {
  const row = await db.one<{ exists: boolean }>(
    sql`SELECT to_regclass('running_processes') IS NOT NULL AND to_regclass('schema_contractions') IS NOT NULL AS exists`,
  );
  return row?.exists ?? false;
}
