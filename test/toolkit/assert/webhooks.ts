/** Reads the rows of webhook endpoints, events, deliveries and attempts. */
import type { Id } from '../../../platform/core/ids.ts';
import { WebhookAttempt } from '../../../entities/webhooks/webhook-attempt.ts';
import { WebhookBody } from '../../../entities/webhooks/webhook-body.ts';
import { WebhookDelivery } from '../../../entities/webhooks/webhook-delivery.ts';
import { WebhookEndpoint } from '../../../entities/webhooks/webhook-endpoint.ts';
import { WebhookEvent } from '../../../entities/webhooks/webhook-event.ts';
import { testDatabase } from '../stack/database.ts';

export async function deliveryRow(id: Id): Promise<WebhookDelivery> {
  return (await testDatabase()).manager.findOneByOrFail(WebhookDelivery, { id });
}

/** The delivery of a fact to this endpoint; null before its fan-out. */
export async function deliveryOf(eventId: Id, endpointId: Id): Promise<WebhookDelivery | null> {
  return (await testDatabase()).manager.findOneBy(WebhookDelivery, { eventId, endpointId });
}

/** The attempts in the order of their claims. */
export async function attemptRows(deliveryId: Id): Promise<WebhookAttempt[]> {
  return (await testDatabase()).manager.find(WebhookAttempt, { where: { deliveryId }, order: { fence: 'ASC' } });
}

export async function endpointRow(id: Id): Promise<WebhookEndpoint> {
  return (await testDatabase()).manager.findOneByOrFail(WebhookEndpoint, { id });
}

/** The event with its body. The body is null if it was deleted. */
export async function eventRow(id: Id): Promise<WebhookEvent & { body: string | null }> {
  const { manager } = await testDatabase();
  const event = await manager.findOneByOrFail(WebhookEvent, { id });
  const storedBody = await manager.findOneBy(WebhookBody, { eventId: id });
  return Object.assign(event, { body: storedBody?.body ?? null });
}
