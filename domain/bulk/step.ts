/** A step of a bulk job: one batch of rows in one transaction, which also records the progress (ENG-2). */
import { BulkJob } from '../../entities/bulk/bulk-job.ts';
import type { BulkJobStatus, EndedBulkJobStatus } from '../../entities/bulk/values.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { VaultDeps } from '../deps.ts';
import { recordBatch } from './batch.ts';
import { bulkRules, hasJobEnded } from './bulk.policy.ts';
import { isItsTurn, loadJob, type StoredJob } from './jobs.ts';

export interface BulkJobDeps extends VaultDeps {
  failpoint: (name: string) => Promise<void>;
}

/**
 * The outcome, or the progress and the time of the next step in Unix milliseconds. If the time is absent, the next step is due immediately.
 */
export type BulkJobStep =
  | { done: true; outcome: EndedBulkJobStatus }
  | { done: false; at?: number; status: BulkJobStatus; rowsDone: number; rowsTotal: number };

/**
 * Advances the job by one step. A repeated step processes the next batch, because processed rows have an outcome.
 * @param now Unix milliseconds
 */
export async function stepBulkJob(deps: BulkJobDeps, jobId: Id, now: number): Promise<BulkJobStep> {
  const job = await loadJob(deps.db, jobId);
  if (!job || hasJobEnded(job.status)) return stateOf(job);
  if (!(await isItsTurn(deps.db, job))) return awaitTurn(deps, job, now);
  await deps.db.transaction(async (tx) => {
    await recordBatch(tx, deps.vault, jobId, new Date(now));
    await deps.failpoint('bulk_batch_written');
  });
  await deps.failpoint('bulk_batch_recorded');
  return stateOf(await loadJob(deps.db, jobId));
}

/** Waits for the end of the earlier job. That end wakes this job, but the wake can be missed, so this job also checks at intervals. */
async function awaitTurn({ db }: BulkJobDeps, job: StoredJob, now: number): Promise<BulkJobStep> {
  const at = now + bulkRules.turnMs;
  await db.manager.update(BulkJob, { id: job.id, status: job.status }, { looksAt: new Date(at) });
  return { ...progressOf(job), at };
}

function stateOf(job: StoredJob | undefined): BulkJobStep {
  if (!job) return { done: true, outcome: 'canceled' }; // the job was deleted with its club
  return hasJobEnded(job.status) ? { done: true, outcome: job.status } : progressOf(job);
}

function progressOf({ status, applied, unchanged, failed, rowsTotal }: StoredJob) {
  return { done: false as const, status, rowsDone: applied + unchanged + failed, rowsTotal };
}
