/** Processes a batch of rows in one transaction: the effects, their facts, the report and the progress. */
import type { Id } from '../../platform/core/ids.ts';
import type { Vault } from '../../platform/infra/keys/vault.ts';
import type { Transaction } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { lockListedStudents } from '../identity/accounts/listed-students.ts';
import { bulkRules, hasJobEnded, rowsABatch } from './bulk.policy.ts';
import { applyAction, type Outcome } from './effects.ts';
import { endJob, lockJob, type StoredJob } from './jobs.ts';

interface PendingRow {
  row: number;
  /** Null if the student was removed after the request. */
  studentId: Id | null;
}

interface RowResult extends Outcome {
  row: number;
}

/**
 * Processes the next rows, unless the job has ended. The lock of the job is the fence: a repeated or a second step waits for it, and then
 * finds only rows without an outcome (BULK-3). The job is locked before any student. So a cancellation waits for the batch, and no
 * transaction waits for a job while it has the lock of a student.
 * @throws StaleRead (a student changed between two reads)
 */
export async function recordBatch(tx: Transaction, vault: Vault, jobId: Id, now: Date): Promise<void> {
  const job = await lockJob(tx, jobId);
  if (!job || hasJobEnded(job.status)) return;
  const { clubId, action } = job;
  const size = rowsABatch(action.kind);
  const rows = await tx.rows<PendingRow>(sql`
    SELECT row, student_id AS "studentId" FROM bulk_job_rows
     WHERE job_id = ${jobId} AND outcome = 'pending' ORDER BY row LIMIT ${size}`);
  const ids = rows.flatMap(({ studentId }) => studentId ?? []);
  const present = await lockListedStudents(tx, clubId, ids, { confirms: action.kind === 'grant' });
  const studentIds = ids.filter((id) => present.has(id));
  const outcomes = await applyAction(tx, vault, { clubId, jobId, studentIds }, action, now);
  const results = rows.map(({ row, studentId }): RowResult => ({
    row,
    ...((studentId !== null && outcomes.get(studentId)) || { outcome: 'failed', code: 'student_removed' }),
  }));
  await recordRows(tx, job, results, now);
  if (rows.length < size) await endJob(tx, job, 'completed', now);
}

async function recordRows(tx: Transaction, { id }: StoredJob, results: readonly RowResult[], now: Date): Promise<void> {
  const countOf = (outcome: RowResult['outcome']) => results.filter((row) => row.outcome === outcome).length;
  await tx.run(sql`UPDATE bulk_job_rows reported
       SET outcome = one->>'outcome', code = one->>'code',
           student_id = CASE WHEN one->>'code' = 'student_removed' THEN NULL ELSE student_id END
      FROM jsonb_array_elements(${JSON.stringify(results)}::jsonb) AS one
     WHERE reported.job_id = ${id} AND reported.row = (one->>'row')::int`);
  await tx.run(sql`UPDATE bulk_jobs
       SET status = 'running', started_at = coalesce(started_at, ${now}),
           applied_count = applied_count + ${countOf('applied')},
           unchanged_count = unchanged_count + ${countOf('unchanged')},
           failed_count = failed_count + ${countOf('failed')},
           looks_at = ${new Date(now.getTime() + bulkRules.silenceMs)}
     WHERE id = ${id}`);
}
