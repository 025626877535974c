/** Deletes bulk jobs after their time, and erases removed students from reports (BULK-5, BULK-6). */
import type { Id } from '../../platform/core/ids.ts';
import type { Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { bulkRules } from './bulk.policy.ts';

/** The maximum number of jobs in one round, with at most a thousand rows each. */
const jobsPerRound = 20;

/** Deletes a batch of jobs that ended long ago, with their rows. It is safe to repeat this function. */
export async function retainJobs(db: Queries, now: Date): Promise<{ rows: { bulkJobs: number }; more: boolean }> {
  const endedBy = new Date(now.getTime() - bulkRules.retentionMs);
  const removed = await db.run(sql`DELETE FROM bulk_jobs WHERE id IN (
    SELECT id FROM bulk_jobs WHERE completed_at <= ${endedBy} ORDER BY completed_at LIMIT ${jobsPerRound} FOR UPDATE SKIP LOCKED)`);
  return { rows: { bulkJobs: removed }, more: removed === jobsPerRound };
}

/**
 * Erases the id of a removed student from all rows. A row that is still pending then fails as `student_removed`. The caller holds the lock
 * of the student. A batch writes rows of a student only under this lock, so this function waits for no job.
 */
export async function eraseStudentFromJobs(tx: Transaction, studentId: Id): Promise<void> {
  await tx.run(sql`UPDATE bulk_job_rows SET student_id = NULL WHERE student_id = ${studentId}`);
}
