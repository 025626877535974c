/** Removes rows at the end of their retention, in small batches (DEL-8, HOOK-12). A Temporal Schedule starts this workflow. */
import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';

const { retain } = proxyActivities<Activities['retention']>({
  startToCloseTimeout: '1m', // a batch of each kind takes well under a second
  retry: { maximumAttempts: 3 }, // enough, because the next run starts within a minute
});

/** Keeps the history of a run short. The next run continues the work. */
const maxRounds = 60;

export async function retention(): Promise<{ rounds: number; rows: number }> {
  let rows = 0;
  for (let rounds = 1; ; rounds++) {
    const { more, ...counts } = await retain(Date.now());
    rows += Object.values(counts).reduce<number>((sum, count) => sum + Number(count), 0);
    if (!more || rounds === maxRounds) return { rounds, rows };
  }
}
