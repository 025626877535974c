/** The activities of `webhook-delivery/<id>`. */
import { attemptDelivery, type DeliveryDeps } from '../domain/webhooks/deliveries/attempts.ts';
import { timeOfStep } from './clock.ts';

export type WebhookDeliveryActivities = ReturnType<typeof webhookDeliveryActivities>;

export function webhookDeliveryActivities(deps: DeliveryDeps) {
  return {
    /** Takes the delivery one step further. @param now the workflow's time in Unix milliseconds */
    attemptDelivery: (deliveryId: string, now: number) => attemptDelivery(deps, deliveryId, timeOfStep(now)),
  };
}
