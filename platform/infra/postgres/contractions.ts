/** Migrations that take something away wait for processes of older versions, and keep these from starting again. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { isContraction } from '../../../entities/contraction.ts';
import { StartProblem } from '../../core/start-problem.ts';
import type { Build } from '../build.ts';
import { Queries } from './database.ts';
import { isBefore, runningBefore } from './running-processes.ts';
import { sql } from './sql.ts';

const lookEveryMs = 1_000;

/**
 * Before the pending migrations run: waits until no process runs that is older than one of them needs. From then on older ones do not
 * start.
 * @param withinMs how long to wait
 * @throws StartProblem naming those that still run then
 */
export async function untilMayContract(source: DataSource, withinMs: number): Promise<void> {
  const db = new Queries(source.manager);
  if (!(await hasProcesses(db))) return; // an empty database
  const done = new Set((await db.rows<{ name: string }>(sql`SELECT name FROM migrations`)).map(({ name }) => name));
  const deadline = performance.now() + withinMs;
  for (const migration of source.migrations.filter(isContraction)) {
    const { name } = migration.constructor;
    const { needs } = migration;
    if (done.has(name)) continue;
    for (;;) {
      const older = await runningBefore(db, needs);
      if (older.length === 0) {
        await db.run(
          sql`INSERT INTO schema_contractions (migration, needs) VALUES (${name}, ${needs}) ON CONFLICT DO NOTHING`,
        );
        if ((await runningBefore(db, needs)).length === 0) break;
        // One has started just before it could know: it is waited for, and may be started again meanwhile.
        await db.run(sql`DELETE FROM schema_contractions WHERE migration = ${name}`);
      } else if (performance.now() > deadline) {
        const list = older.map((one) => `${one.name} of version ${one.version}`).join(', ');
        throw new StartProblem(
          `${name} takes away what versions before ${needs} read, and some run: ${list}. Upgrade or end them, and run this again.`,
        );
      }
      await sleep(lookEveryMs);
    }
  }
}

/** @throws StartProblem where the schema lacks what this build reads */
export async function checkContractions(source: DataSource, build: Build | undefined): Promise<void> {
  if (!build) return; // a checkout has no version
  const db = new Queries(source.manager);
  const rows = await db.rows<{ needs: string }>(sql`SELECT needs FROM schema_contractions`);
  const beyond = rows.find(({ needs }) => isBefore(build.version, needs));
  if (beyond)
    throw new StartProblem(
      `The schema is contracted: it lacks what version ${build.version} reads. Run version ${beyond.needs} or a later one.`,
    );
}

async function hasProcesses(db: Queries): Promise<boolean> {
  const row = await db.one<{ exists: boolean }>(
    sql`SELECT to_regclass('running_processes') IS NOT NULL AND to_regclass('schema_contractions') IS NOT NULL AS exists`,
  );
  return row?.exists ?? false;
}
