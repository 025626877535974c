/** Sends an event of the log again to one endpoint (EVT-27). */
import { MoreThan, Not } from 'typeorm';
import type { RecordOf } from '../../../contract/contract.ts';
import { WebhookDelivery } from '../../../entities/webhooks/webhook-delivery.ts';
import { WebhookEndpoint } from '../../../entities/webhooks/webhook-endpoint.ts';
import { WebhookEvent } from '../../../entities/webhooks/webhook-event.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { wake } from '../../../platform/engine/wakes.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../../deps.ts';
import { bodyOf } from '../deliveries/bodies.ts';
import { readDelivery } from '../deliveries/deliveries.ts';
import { deliveryIdOf } from '../deliveries/delivery-id.ts';
import { earliestBody, payloadPurged, requestAttempt } from '../deliveries/manual.ts';
import { endOf } from '../deliveries/retention.policy.ts';
import type { DeliveryToWake } from '../deliveries/wakes.ts';
import { lockEnabledEndpoint } from '../endpoints/endpoint-locks.ts';

/**
 * Sends an event to an endpoint that has no delivery of it, with the retries of every delivery. Otherwise the delivery gets one manual
 * attempt, as by a resend. So an event has at most one delivery to an endpoint (HOOK-1).
 * @throws DomainError not_found for the event and for the endpoint; endpoint_not_enabled, event_type_not_subscribed, payload_purged
 */
export function replayEvent(
  { db }: DatabaseDeps,
  clubId: Id,
  eventId: Id,
  endpointId: Id,
  now: Date,
): Promise<RecordOf<'WebhookDelivery'>> {
  return db.transaction(async (tx) => {
    const event = await tx.manager.findOneBy(WebhookEvent, {
      id: eventId,
      clubId,
      type: Not('webhook.test'),
      createdAt: MoreThan(endOf.history(now)),
    });
    if (!event) throw notFound('event');
    // A removal locks the student, too. So it sees the new delivery, or the replay sees that the body is deleted.
    await tx.run(sql`SELECT FROM students WHERE id = ${event.studentId} FOR SHARE`);
    await lockEnabledEndpoint(tx, clubId, endpointId);
    await requireSubscription(tx, endpointId, event);
    const id = deliveryIdOf(eventId, endpointId);
    const delivery = { id, clubId, endpointId, eventType: event.type };
    if (await tx.manager.existsBy(WebhookDelivery, { id })) await requestAttempt(tx, delivery, now);
    else await insertDelivery(tx, event, delivery, now);
    return readDelivery(tx, id, now);
  });
}

async function requireSubscription(tx: Transaction, endpointId: Id, { type }: WebhookEvent): Promise<void> {
  const endpoint = await tx.manager.findOneOrFail(WebhookEndpoint, {
    select: { eventTypes: true },
    where: { id: endpointId },
  });
  if (!endpoint.eventTypes.some((subscribed) => subscribed === type))
    throw new DomainError('event_type_not_subscribed', `The endpoint does not subscribe to ${type}.`);
}

/** Inserts a delivery with the creation time of its event, like every late delivery, because both expire with the body. */
async function insertDelivery(
  tx: Transaction,
  { id: eventId, studentId, createdAt }: WebhookEvent,
  delivery: DeliveryToWake,
  now: Date,
): Promise<void> {
  const hasBody = createdAt > earliestBody(now) && (await bodyOf(tx, eventId, createdAt)) !== undefined;
  if (!hasBody) throw payloadPurged();
  await tx.manager.insert(WebhookDelivery, { ...delivery, eventId, studentId, createdAt, nextAttemptAt: now });
  await wake(tx, 'webhookDelivery', [delivery], now);
}
