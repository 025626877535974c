/** One round of the sweeper: wakes overdue rows and removes expired ones (ENG-5). A Schedule runs it. */
import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';

const { rescueOverdue, removeExpired } = proxyActivities<Activities['sweep']>({
  startToCloseTimeout: '1m', // each activity handles a limited batch of a few hundred rows
  retry: { maximumAttempts: 3 }, // the next round comes within a minute
});

/** @returns the number of workflows that were signaled; 0 in normal operation */
export async function sweep(): Promise<{ rescued: number }> {
  let rescued = 0;
  try {
    rescued = await rescueOverdue(Date.now());
  } finally {
    await removeExpired(Date.now()); // runs even if some kind of row could not be read
  }
  return { rescued };
}
