/** One delivery, from its fact to its end: Postgres decides, this waits. */
import { continueAsNew, proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import { inAbout } from '../platform/core/durations.policy.ts';
import { deliveryRules } from '../domain/webhooks/deliveries/schedule.policy.ts';
import type { WebhookDeliveryActivities } from '../activities/webhook-delivery.ts';
import { lookAgainUntilDone } from './loop.ts';

const { attemptDelivery } = proxyActivities<WebhookDeliveryActivities>({
  startToCloseTimeout: '30s', // the attempt's 15 s and the lease's 10 s beyond; a repetition then finds the lease run out
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1m' }, // for ever: only our own faults throw
});

const { attemptDelivery: attemptDeliveryHere } = proxyLocalActivities<WebhookDeliveryActivities>({
  startToCloseTimeout: '30s', // as above
  retry: { maximumAttempts: 1 }, // if it fails, the ordinary activity takes over
});

/**
 * @param inPlace make the first attempt a local activity: the relay admits as many as the worker can hold (ADR 0004)
 */
export async function webhookDelivery(
  deliveryId: string,
  inPlace = false,
): Promise<'succeeded' | 'failed' | 'canceled'> {
  let here = inPlace;
  return lookAgainUntilDone(
    async (now) => {
      if (here) {
        here = false;
        const first = await attemptDeliveryHere(deliveryId, now).catch(() => undefined);
        if (first) return first;
      }
      return attemptDelivery(deliveryId, now);
    },
    {
      waitingFor: ({ waitingFor, attempt, at }) => {
        if (waitingFor === 'endpoint') return 'the endpoint to be enabled again';
        if (waitingFor === 'gate') return "its turn at the endpoint's gate";
        if (waitingFor === 'lease') return `the end of ${nameOf(attempt)}, which is under way`;
        return `${nameOf(attempt)} ${inAbout(at - Date.now())}`;
      },
      startAfresh: () => continueAsNew<typeof webhookDelivery>(deliveryId),
    },
  );
}

/** Attempts that were asked for by hand can go beyond the schedule. */
function nameOf(attempt: number): string {
  return attempt > deliveryRules.attempts ? `attempt ${attempt}` : `attempt ${attempt} of ${deliveryRules.attempts}`;
}
