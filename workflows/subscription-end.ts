/** The end of what a canceled subscription gave: waited for as it is recorded, which an administrator may change meanwhile. */
import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import { inAbout } from '../platform/core/durations.policy.ts';
import type { SalesActivities } from '../activities/sales.ts';
import { lookAgainUntilDone } from './loop.ts';

const { lookAtSubscriptionEnd } = proxyActivities<SalesActivities>({
  startToCloseTimeout: '30s', // two short statements; Postgres itself ends a statement after 30 s
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1m' }, // for ever: only our own faults throw
});

/** @returns `open` where the access has no end any more */
export async function subscriptionEnd(subscriptionId: string): Promise<'ended' | 'revoked' | 'open'> {
  return lookAgainUntilDone((now) => lookAtSubscriptionEnd(subscriptionId, now), {
    waitingFor: ({ at }) => `the end of the access ${inAbout(at - Date.now())}`,
    startAfresh: () => continueAsNew<typeof subscriptionEnd>(subscriptionId),
  });
}
