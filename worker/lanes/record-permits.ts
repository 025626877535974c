/** Limits the number of attempts in progress. The limit depends on the time that it takes to record an attempt (ENG-18). */
import { releaseOnce, type ReleasePermit } from '../../platform/core/permits.ts';
import { longestWaitMs } from './keyed-permits.ts';

/** The number of Postgres connections that are reserved for recording attempts. */
export const connectionsForRecords = 4;
/**
 * The time that remains to record an attempt, in milliseconds: the lease, less the longest attempt and a margin.
 */
const timeForRecordMs = 8_000;
/** The weight of a new duration in the average. A new duration above the average replaces the average instead. */
const weightOfNewest = 0.2;

export interface RecordPermits {
  /** @returns whether the lease of one more attempt could end before the attempt is recorded */
  isFull(): boolean;
  /** Acquires a permit, even beyond the limit. */
  acquire(): ReleasePermit;
  /** @param now Unix milliseconds @returns the time of the next try, in Unix milliseconds */
  retryAt(now: number): number;
  report(durationMs: number): void;
}

/**
 * An attempt must be recorded before its lease ends, because a message without a record is posted again. This must hold even if all
 * attempts in progress end at the same moment. Therefore the time that one record takes limits the number of attempts. If a record takes
 * some milliseconds,
 * thousands of attempts are allowed. If a record takes one second, 32 attempts are allowed.
 */
export function createRecordPermits(): RecordPermits {
  let recordMs = 0;
  let inProgress = 0;
  const allRecordsMs = () => (inProgress / connectionsForRecords) * recordMs;
  return {
    isFull: () => allRecordsMs() >= timeForRecordMs,
    acquire() {
      inProgress++;
      return releaseOnce(() => inProgress--);
    },
    retryAt: (now) => Math.round(now + Math.min(longestWaitMs, allRecordsMs() * (1 + Math.random()))),
    report(durationMs) {
      recordMs = Math.max(durationMs, recordMs + (durationMs - recordMs) * weightOfNewest);
    },
  };
}
