/** One round of the sweeper: wakes overdue rows and removes expired ones (ENG-5). A Schedule runs it. */
import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';

const { rescueOverdue, removeExpired } = proxyActivities<Activities['sweep']>({
  startToCloseTimeout: '1m', // each takes a bounded batch: a few hundred rows
  retry: { maximumAttempts: 3 }, // the next round comes within the minute
});

/** @returns how many workflows had to be signaled: 0 in normal operation */
export async function sweep(): Promise<{ rescued: number }> {
  let rescued = 0;
  try {
    rescued = await rescueOverdue(Date.now());
  } finally {
    await removeExpired(Date.now()); // also if some kind of row could not be read
  }
  return { rescued };
}
