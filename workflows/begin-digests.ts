/** Begins the daily mails of spaces at the right time in the time zone of each club (COMM-17). A Temporal Schedule starts this workflow. */
import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';

const activities = proxyActivities<Activities['beginDigests']>({
  startToCloseTimeout: '1m', // a batch is one transaction; Postgres ends a statement after 30 s
  retry: { maximumAttempts: 3 }, // enough, because the next run within a quarter of an hour begins the remaining digests
});

/** Keeps the history of a run short. The next run continues the work. */
const maxBatches = 200;

export async function beginDigests(): Promise<{ begun: number }> {
  let begun = 0;
  for (let batches = 1; ; batches++) {
    const batch = await activities.beginDigests(Date.now());
    begun += batch.begun;
    if (!batch.more || batches === maxBatches) return { begun };
  }
}
