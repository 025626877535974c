/** The event `webhook.test`, which an administrator sends to one endpoint (DEL-5). */
import type { EventBodyOf, RecordOf } from '../../../contract/contract.ts';
import { WebhookBody } from '../../../entities/webhooks/webhook-body.ts';
import { WebhookDelivery } from '../../../entities/webhooks/webhook-delivery.ts';
import { WebhookEvent } from '../../../entities/webhooks/webhook-event.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { wake } from '../../../platform/engine/wakes.ts';
import type { VaultDeps } from '../../deps.ts';
import { readDelivery } from '../deliveries/deliveries.ts';
import { deliveryIdOf } from '../deliveries/delivery-id.ts';
import { lockEnabledEndpoint } from '../endpoints/endpoint-locks.ts';

/**
 * Creates a `webhook.test` delivery. Its first attempt does not wait for the breaker.
 * @throws DomainError not_found, endpoint_not_enabled
 */
export function sendTest(
  { db }: VaultDeps,
  clubId: Id,
  endpointId: Id,
  now: Date,
): Promise<RecordOf<'WebhookDelivery'>> {
  const eventId = newId();
  const id = deliveryIdOf(eventId, endpointId);
  const eventType = 'webhook.test';
  return db.transaction(async (tx) => {
    await lockEnabledEndpoint(tx, clubId, endpointId);
    const body = assembleTestBody({ eventId, clubId, endpointId, occurredAt: now });
    await tx.manager.insert(WebhookEvent, {
      id: eventId,
      clubId,
      type: eventType,
      occurredAt: now,
      createdAt: now,
    });
    await tx.manager.insert(WebhookBody, { eventId, createdAt: now, body });
    await tx.manager.insert(WebhookDelivery, {
      id,
      clubId,
      endpointId,
      eventId,
      eventType,
      requested: 'test',
      nextAttemptAt: now,
      createdAt: now,
    });
    await wake(tx, 'webhookDelivery', [{ id, clubId, endpointId, eventType }], now);
    return readDelivery(tx, id, now);
  });
}

/** @returns the body of a test message, which has no fact */
export function assembleTestBody(test: { eventId: Id; clubId: Id; endpointId: Id; occurredAt: Date }): string {
  const body: EventBodyOf<'webhook.test'> = {
    id: test.eventId,
    type: 'webhook.test',
    occurred_at: test.occurredAt.toISOString(),
    club_id: test.clubId,
    data: { endpoint: { id: test.endpointId } },
  };
  return JSON.stringify(body);
}
