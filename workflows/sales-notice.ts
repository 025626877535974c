/** One notice of a sales platform, from its arrival until it is processed, ignored or failed. */
import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import { inAbout } from '../platform/core/durations.policy.ts';
import type { SalesActivities } from '../activities/sales.ts';
import { lookAgainUntilDone } from './loop.ts';

const { processNotice } = proxyActivities<SalesActivities>({
  startToCloseTimeout: '15s', // the lease's 10 s and some: a repetition then finds the lease run out
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1m' }, // for ever: a refusal is a result, only our own faults throw
});

export async function salesNotice(noticeId: string): Promise<'processed' | 'ignored' | 'failed'> {
  return lookAgainUntilDone((now) => processNotice(noticeId, now), {
    waitingFor: ({ attempt, at }) => `attempt ${attempt} ${inAbout(at - Date.now())}`,
    startAfresh: () => continueAsNew<typeof salesNotice>(noticeId),
  });
}
