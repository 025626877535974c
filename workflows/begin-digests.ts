/** Begins the daily mails of spaces whose time has come in their club's zone (COMM-17). Run by a Schedule. */
import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';

const activities = proxyActivities<Activities['beginDigests']>({
  startToCloseTimeout: '1m', // a batch is one transaction; Postgres itself ends a statement after 30 s
  retry: { maximumAttempts: 3 }, // the next run comes within a quarter of an hour, and finds what this one left
});

/** Batches of one run: its history stays short, and the next run continues. */
const maxBatches = 200;

/** @returns how many digests it began */
export async function beginDigests(): Promise<{ begun: number }> {
  let begun = 0;
  for (let batches = 1; ; batches++) {
    const batch = await activities.beginDigests(Date.now());
    begun += batch.begun;
    if (!batch.more || batches === maxBatches) return { begun };
  }
}
