/** One add-on, from its purchase until it is known whether it is paid: Postgres decides, this waits. */
import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import { inAbout } from '../platform/core/durations.policy.ts';
import type { AddOnActivities } from '../activities/add-on.ts';
import { lookAgainUntilDone } from './loop.ts';

const { settle } = proxyActivities<AddOnActivities>({
  startToCloseTimeout: '70s', // beyond the lease's 60 s: a repetition then finds the lease run out
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1m' }, // for ever: a refusal is a result, only our own faults throw
});

export async function addOn(addOnId: string): Promise<'pending' | 'active' | 'failed'> {
  return lookAgainUntilDone((now) => settle(addOnId, now), {
    waitingFor: ({ attempt, at }) => `attempt ${attempt} ${inAbout(at - Date.now())}`,
    startAfresh: () => continueAsNew<typeof addOn>(addOnId),
  });
}
