/** The activities of `webhook-delivery/<id>`. */
import { attemptDelivery, type DeliveryPlatform } from '../domain/webhooks/deliveries/attempts.ts';
import { timeOfStep } from './clock.ts';

export type WebhookDeliveryActivities = ReturnType<typeof webhookDeliveryActivities>;

export function webhookDeliveryActivities(platform: DeliveryPlatform) {
  return {
    /** Takes the delivery one step further. @param now the workflow's time in Unix milliseconds */
    attemptDelivery: (deliveryId: string, now: number) => attemptDelivery(platform, deliveryId, timeOfStep(now)),
  };
}
