/** Permits of attempts in progress, by how long their records take (ENG-18). */
import { releaseOnce, type ReleasePermit } from '../../platform/core/permits.ts';
import { longestWaitMs } from './keyed-permits.ts';

/** Connections to Postgres that only records of attempts use. */
export const connectionsForRecords = 4;
/** The time that a lease leaves for the record after the longest attempt, with a margin. */
const timeForRecordMs = 8_000;
/** Weight of the newest record while records get quicker; a slower one counts immediately. */
const weightOfNewest = 0.2;

export interface RecordPermits {
  /** @returns whether one more attempt could be recorded too late */
  isFull(): boolean;
  /** Acquires a permit, even beyond the bound. */
  acquire(): ReleasePermit;
  /** @param now Unix milliseconds @returns when to try again, in Unix milliseconds */
  retryAt(now: number): number;
  /** Notes how long a record took, in milliseconds. */
  report(durationMs: number): void;
}

/**
 * All attempts in progress must be recorded before their leases end, even if all end at the same moment: a message that is posted and not
 * recorded is posted again. The duration of a record therefore bounds their number: thousands at some milliseconds, 32 at a second.
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
