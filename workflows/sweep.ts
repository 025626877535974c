/** One round of the sweeper: wakes overdue rows and removes expired rows (ENG-5). A Temporal Schedule starts this workflow. */
import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';

const { rescueOverdue, removeExpired } = proxyActivities<Activities['sweep']>({
  startToCloseTimeout: '1m', // each activity handles a limited batch of a few hundred rows
  retry: { maximumAttempts: 3 }, // enough, because the next round starts within a minute
});

export async function sweep(): Promise<{ rescued: number }> {
  let rescued = 0;
  try {
    rescued = await rescueOverdue(Date.now());
  } finally {
    await removeExpired(Date.now()); // also after an error of `rescueOverdue`
  }
  return { rescued };
}
