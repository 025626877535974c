/**
 * Deletes the lists of steps that a removed student's runs took. It also deletes the list of every run a year after the run has ended
 * (AUTO-16).
 */
import type { Id } from '../../platform/core/ids.ts';
import { wake } from '../../platform/engine/wakes.ts';
import type { Database, Transaction } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { endRun, runColumns, type RunRow } from './running/moves.ts';

/**
 * Ends the student's runs and deletes their paths. The keys of the runs and the counts of runs stay. The caller holds the lock of the
 * student.
 */
export async function purgeStudentFromAutomations(tx: Transaction, studentId: Id, now: Date): Promise<void> {
  const active = await tx.rows<RunRow>(sql`SELECT ${runColumns} FROM automation_runs run
    WHERE run.student_id = ${studentId} AND run.status = 'active' ORDER BY run.id FOR NO KEY UPDATE`);
  for (const run of active) await endRun(tx, run, { status: 'exited', reason: 'student_removed' }, now);
  await wake(tx, 'automationRun', active, now);
  await tx.run(
    sql`DELETE FROM automation_run_steps WHERE run_id IN (SELECT id FROM automation_runs WHERE student_id = ${studentId})`,
  );
  await tx.run(sql`UPDATE automation_runs SET path_kept = false WHERE student_id = ${studentId}`);
}

const pathRetentionMs = 365 * 86_400_000;
const pathsPerBatch = 500;

/** Deletes the lists of steps of runs that ended a year ago, one batch for each call. Upkeep repeats the call for the next batch. */
export async function forgetOldPaths(
  db: Database,
  now: Date,
): Promise<{ rows: { pathsForgotten: number }; more: boolean }> {
  return db.transaction(async (tx) => {
    const deletedPaths = await tx.rows<{ id: Id }>(sql`
      UPDATE automation_runs SET path_kept = false WHERE id IN (
        SELECT id FROM automation_runs WHERE path_kept AND ended_at < ${new Date(now.getTime() - pathRetentionMs)}
         ORDER BY ended_at LIMIT ${pathsPerBatch} FOR NO KEY UPDATE SKIP LOCKED) RETURNING id`);
    await tx.run(sql`DELETE FROM automation_run_steps WHERE run_id = ANY(${deletedPaths.map(({ id }) => id)})`);
    return { rows: { pathsForgotten: deletedPaths.length }, more: deletedPaths.length === pathsPerBatch };
  });
}
