/** Reads messages that may be reports, in threads with limits (BNC-6). */
import { moduleAt } from '../../../../platform/core/modules.ts';
import { createClubPermits } from '../../../../platform/engine/club-permits.ts';
import { createThreads } from '../../../../platform/infra/threads/bounded-thread.ts';
import type { ReadMessage } from './report-thread.ts';

/** The limits of a process's threads. */
export const reportThreadRules = {
  threads: 2,
  /** CPU time. A usual report takes some milliseconds. */
  workMs: 2_000,
  maxHeapMb: 128,
  maxBuffersMb: 32,
  /** The number of messages that a thread reads before a new thread replaces it. */
  uses: 500,
} as const;

/** Longer messages are cut here when they are fetched. The report comes before the returned mail. */
export const mostReportBytes = 262_144;

const threads = createThreads(moduleAt('./report-thread.ts', import.meta.url), reportThreadRules, {
  uses: reportThreadRules.uses,
});
/** A report belongs to no club before it is read, so all reports share one line. One holder gets at most half of the permits. */
const permits = createClubPermits(2 * reportThreadRules.threads);
const allReports = { clubId: 'reports' };

/**
 * @param bytes a message as RFC 5322 describes it, perhaps cut at its end
 * @returns without events if the message is no report, or exceeds the limits of a thread
 * @throws DomainError busy
 */
export async function readReport(bytes: Buffer): Promise<ReadMessage> {
  const { signal } = new AbortController();
  const result = await permits.run(allReports, () => threads.run<ReadMessage>({ data: new Uint8Array(bytes), signal }));
  return typeof result === 'string' ? {} : result;
}
