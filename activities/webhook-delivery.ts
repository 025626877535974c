/** The activities of `webhook-delivery/<id>`. */
import { attemptDelivery, type DeliveryPlatform } from '../domain/webhooks/deliveries/attempts.ts';
import type { DeliveryStep } from '../domain/webhooks/deliveries/parking.ts';
import { timeOfStep } from './clock.ts';

export type WebhookDeliveryActivities = ReturnType<typeof webhookDeliveryActivities>;

/** @param onStepEnd told when a step of a delivery is over, however it ended */
export function webhookDeliveryActivities(platform: DeliveryPlatform, onStepEnd: (deliveryId: string) => void) {
  return {
    /** Takes the delivery one step further. @param now the workflow's time in Unix milliseconds */
    async attemptDelivery(deliveryId: string, now: number): Promise<DeliveryStep> {
      try {
        return await attemptDelivery(platform, deliveryId, timeOfStep(now));
      } finally {
        onStepEnd(deliveryId);
      }
    },
  };
}
