/** The limits of bulk jobs, and the codes of their rows. */
import {
  endedBulkJobStatuses,
  type BulkActionKind,
  type BulkJobStatus,
  type BulkRowCode,
  type EndedBulkJobStatus,
} from '../../entities/bulk/values.ts';
import type { ErrorCode } from '../../platform/core/error-codes.ts';

export function hasJobEnded(status: BulkJobStatus): status is EndedBulkJobStatus {
  return endedBulkJobStatuses.some((ended) => ended === status);
}

export const bulkRules = {
  maxOpen: 20,
  /** The maximum number of students of a job. The contract states the same number. */
  maxStudents: 1_000,
  /** A transaction holds the locks of these students for about a tenth of a second. */
  batchRows: 50,
  /** The number of rows of a transaction that changes tags. Its number of statements does not grow with the rows. */
  batchTags: 250,
  /** The longest time between two steps of a workflow that is still running. */
  silenceMs: 10 * 60_000,
  /** At this interval a waiting job checks whether it may run. The end of another job also wakes it. */
  turnMs: 30_000,
  /** A job and its report are deleted this long after its end. */
  retentionMs: 90 * 86_400_000,
} as const;

/** The errors of a single operation that fail a row. Any other error is a fault and repeats the batch. */
export const rowCodes: Partial<Record<ErrorCode, BulkRowCode>> = {
  not_found: 'target_not_found', // the batch has found and locked the student, so the target is missing
  delivery_archived: 'delivery_archived',
  invalid_request: 'invalid_request',
  limit_reached: 'limit_reached',
};

/** @returns the number of rows of a transaction of such a job */
export function rowsABatch(kind: BulkActionKind): number {
  return kind === 'tag' || kind === 'untag' ? bulkRules.batchTags : bulkRules.batchRows;
}
