/** One webhook delivery, from the fact that causes it until it has succeeded, failed or been canceled. */
import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { deliveryRules } from '../domain/webhooks/deliveries/schedule.policy.ts';
import { inAbout } from '../platform/core/time/durations.policy.ts';
import { repeat, untilItSucceeds } from './step-workflow.ts';

/** An attempt takes at most 15 s. This limit is longer than the lease of 25 s, so that a retry can claim the delivery again. */
const limits = { startToCloseTimeout: '30s' } as const;

const { attemptDelivery } = proxyActivities<Activities['webhookDelivery']>({ ...limits, retry: untilItSucceeds });
const { attemptDelivery: attemptLocally } = proxyLocalActivities<Activities['webhookDelivery']>({
  ...limits,
  retry: { maximumAttempts: 1 }, // a failed local activity is not repeated; an ordinary activity then makes the attempt
});

/** @param local whether the first attempt is a local activity; the relay limits their number (HOOK-15) */
export async function webhookDelivery(deliveryId: string, local = false): Promise<'succeeded' | 'failed' | 'canceled'> {
  let attemptsLocally = local;
  const step = async (now: number) => {
    const first = attemptsLocally ? await attemptLocally(deliveryId, now).catch(() => undefined) : undefined;
    attemptsLocally = false;
    return first ?? attemptDelivery(deliveryId, now);
  };
  return repeat(deliveryId, step, {
    waitingFor({ waitingFor, attempt, at }) {
      if (waitingFor === 'endpoint') return 'the endpoint to be enabled again';
      if (waitingFor === 'gate') return "its turn at the endpoint's gate";
      if (waitingFor === 'lease') return `the end of ${nameOf(attempt)}, which is under way`;
      return `${nameOf(attempt)} ${inAbout(at - Date.now())}`;
    },
  });
}

/** A manual attempt may have a higher number than the last scheduled attempt. */
function nameOf(attempt: number): string {
  return attempt > deliveryRules.attempts ? `attempt ${attempt}` : `attempt ${attempt} of ${deliveryRules.attempts}`;
}
