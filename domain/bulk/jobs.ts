/** Lists, reads and cancels bulk jobs. `step.ts` does the work. */
import type { RecordOf } from '../../contract/contract.ts';
import { BulkJob } from '../../entities/bulk/bulk-job.ts';
import { BulkJobRow } from '../../entities/bulk/bulk-job-row.ts';
import type { BulkAction, BulkOutcome, EndedBulkJobStatus } from '../../entities/bulk/values.ts';
import { DomainError, notFound } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import { wake } from '../../platform/engine/wakes.ts';
import type { Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { listPage, type Page, type PageRequest } from '../../platform/infra/postgres/lists/page.ts';
import { ascending, newestFirst } from '../../platform/infra/postgres/lists/order.ts';
import { all, columns, sql, type RowOf } from '../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../deps.ts';
import { hasJobEnded } from './bulk.policy.ts';

const jobColumns = columns(BulkJob, {
  id: 'id',
  clubId: 'clubId',
  action: 'action',
  status: 'status',
  rowsTotal: 'rowsTotal',
  applied: 'appliedCount',
  unchanged: 'unchangedCount',
  failed: 'failedCount',
  createdAt: 'createdAt',
  startedAt: 'startedAt',
  completedAt: 'completedAt',
});
export type StoredJob = RowOf<typeof jobColumns>;

export async function loadJob(db: Queries, jobId: Id): Promise<StoredJob | undefined> {
  return db.one<StoredJob>(sql`SELECT ${jobColumns} FROM bulk_jobs WHERE id = ${jobId}`);
}

/** Locks the job's row until the transaction ends. Take this lock before the locks of students. */
export async function lockJob(tx: Transaction, jobId: Id): Promise<StoredJob | undefined> {
  return tx.one<StoredJob>(sql`SELECT ${jobColumns} FROM bulk_jobs WHERE id = ${jobId} FOR NO KEY UPDATE`);
}

/** @throws DomainError not_found */
export async function findJob(db: Queries, clubId: Id, jobId: Id): Promise<RecordOf<'BulkJob'>> {
  const job = await loadJob(db, jobId);
  if (job?.clubId !== clubId) throw notFound('bulk job');
  return presentJob(job);
}

/** @returns a page of the club's jobs, newest first */
export async function listJobs(db: Queries, clubId: Id, page: PageRequest): Promise<Page<RecordOf<'BulkJob'>>> {
  const { rows, total, next } = await listPage(db, page, {
    columns: jobColumns,
    from: sql`FROM bulk_jobs WHERE club_id = ${clubId}`,
    orderBy: newestFirst(),
  });
  return { rows: rows.map(presentJob), total, next };
}

export interface ReportFilter extends PageRequest {
  outcome?: BulkOutcome;
}

/** @returns a page of the report, in the order of the request @throws DomainError not_found */
export async function listJobRows(
  db: Queries,
  clubId: Id,
  jobId: Id,
  { outcome, ...page }: ReportFilter,
): Promise<Page<RecordOf<'BulkJobRow'>>> {
  await findJob(db, clubId, jobId);
  const { rows, total, next } = await listPage(db, page, {
    columns: columns(BulkJobRow, ['row', 'outcome', 'code', 'studentId']),
    from: sql`FROM bulk_job_rows WHERE ${all([
      sql`job_id = ${jobId}`,
      outcome === undefined ? undefined : sql`outcome = ${outcome}`,
    ])}`,
    orderBy: [ascending('row', 'int')],
  });
  return {
    total,
    next,
    rows: rows.map((row) => ({
      row: row.row,
      outcome: row.outcome,
      ...(row.code !== null && { code: row.code }),
      ...(row.studentId !== null && { student_id: row.studentId }),
    })),
  };
}

/**
 * Ends a job. Rows that already have an outcome do not change, and all other rows become `canceled`. The call waits for a running batch,
 * and may be repeated.
 * @throws DomainError not_found, bulk_job_ended (it was completed)
 */
export async function cancelJob({ db }: DatabaseDeps, clubId: Id, jobId: Id, now: Date): Promise<RecordOf<'BulkJob'>> {
  return db.transaction(async (tx) => {
    await findJob(tx, clubId, jobId);
    const job = await lockJob(tx, jobId);
    if (job?.status === 'completed') throw new DomainError('bulk_job_ended', 'The bulk job has ended already.');
    if (job && !hasJobEnded(job.status)) {
      await tx.run(sql`UPDATE bulk_job_rows SET outcome = 'canceled' WHERE job_id = ${jobId} AND outcome = 'pending'`);
      await endJob(tx, job, 'canceled', now);
      await wake(tx, 'bulkJob', [{ id: jobId, clubId }], now); // the workflow of this job may wait for the end of an earlier job
    }
    return findJob(tx, clubId, jobId);
  });
}

/**
 * Ends a job without pending rows, and wakes the club's next job. The caller holds the lock of the job. The note of an award is deleted,
 * because it may name a student and the awards have it.
 */
export async function endJob(
  tx: Transaction,
  { id, clubId }: Pick<StoredJob, 'id' | 'clubId'>,
  status: EndedBulkJobStatus,
  now: Date,
): Promise<void> {
  await tx.run(sql`UPDATE bulk_jobs SET status = ${status}, completed_at = ${now}, looks_at = NULL, action = action - 'note'
     WHERE id = ${id}`);
  const next = await tx.one<{ id: Id; clubId: Id }>(sql`SELECT id, club_id AS "clubId" FROM bulk_jobs
     WHERE club_id = ${clubId} AND completed_at IS NULL AND id <> ${id} ORDER BY created_at, id LIMIT 1`);
  if (next) await wake(tx, 'bulkJob', [next], now);
}

/** One job of a club runs at a time, in the order of creation (BULK-4). */
export async function isItsTurn(db: Queries, { id, clubId, createdAt }: StoredJob): Promise<boolean> {
  const earlier = await db.one(sql`SELECT FROM bulk_jobs
      WHERE club_id = ${clubId} AND completed_at IS NULL AND (created_at, id) < (${createdAt}, ${id}) LIMIT 1`);
  return earlier === undefined;
}

function presentJob(job: StoredJob): RecordOf<'BulkJob'> {
  const { applied, unchanged, failed } = job;
  return {
    id: job.id,
    ...presentAction(job.action),
    status: job.status,
    rows_total: job.rowsTotal,
    rows_done: applied + unchanged + failed,
    applied,
    unchanged,
    failed,
    created_at: job.createdAt.toISOString(),
    ...(job.startedAt !== null && { started_at: job.startedAt.toISOString() }),
    ...(job.completedAt !== null && { completed_at: job.completedAt.toISOString() }),
  };
}

type PresentedAction = Pick<
  RecordOf<'BulkJob'>,
  'action' | 'tag_id' | 'delivery_id' | 'cohort_id' | 'starts_at' | 'ends_at' | 'points'
>;

function presentAction(action: BulkAction): PresentedAction {
  switch (action.kind) {
    case 'tag':
    case 'untag':
      return { action: action.kind, tag_id: action.tagId };
    case 'grant': {
      const { kind, deliveryId, cohortId, startsAt, endsAt } = action;
      return {
        action: kind,
        delivery_id: deliveryId,
        ...(cohortId !== undefined && { cohort_id: cohortId }),
        ...(startsAt !== undefined && { starts_at: startsAt }),
        ...(endsAt !== undefined && { ends_at: endsAt }),
      };
    }
    case 'revoke':
      return { action: action.kind, delivery_id: action.deliveryId };
    case 'award_points':
      return { action: action.kind, points: action.points };
  }
}
