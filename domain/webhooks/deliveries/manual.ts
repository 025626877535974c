/** Handles attempts outside the schedule that an administrator requests: a resend or a recovery (DEL-6, STATE-11, STATE-12, STATE-15). */
import type { RecordOf } from '../../../contract/contract.ts';
import { WebhookDelivery as Delivery } from '../../../entities/webhooks/webhook-delivery.ts';
import { WebhookEndpoint } from '../../../entities/webhooks/webhook-endpoint.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { MoreThan } from 'typeorm';
import { all, sql } from '../../../platform/infra/postgres/sql.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { VaultDeps } from '../../deps.ts';
import { lockDeliveries, readDelivery } from './deliveries.ts';
import { lockEnabledEndpoint } from '../endpoints/endpoint-locks.ts';
import { requireEndpoint } from '../endpoints/endpoints.ts';
import { endOf } from './retention.policy.ts';
import { deliveryRules } from './schedule.policy.ts';
import { callGate, type DeliveryToWake } from './wakes.ts';
import { wake } from '../../../platform/engine/wakes.ts';

type WebhookDelivery = RecordOf<'WebhookDelivery'>;

/**
 * Requests one manual attempt with the same body and `webhook-id`. A pending delivery becomes due now and stays on its schedule. Any other
 * delivery gets only this attempt, and its status changes only if the attempt succeeds.
 * @throws DomainError not_found, endpoint_not_enabled, payload_purged
 */
export function resendDelivery(
  { db }: VaultDeps,
  clubId: Id,
  endpointId: Id,
  deliveryId: Id,
  now: Date,
): Promise<WebhookDelivery> {
  return db.transaction(async (tx) => {
    const where = { id: deliveryId, endpointId, clubId, createdAt: MoreThan(endOf.history(now)) };
    const delivery = await tx.manager.findOne(Delivery, { select: { id: true, eventType: true }, where });
    if (!delivery) {
      await requireEndpoint(tx, clubId, endpointId);
      throw notFound('delivery'); // reads the delivery before the endpoint's state, because the error 404 has priority over 409
    }
    await lockEnabledEndpoint(tx, clubId, endpointId);
    await requestAttempt(tx, { id: deliveryId, clubId, endpointId, eventType: delivery.eventType }, now);
    return readDelivery(tx, deliveryId, now);
  });
}

/**
 * Requests one manual attempt of a delivery, and wakes its run. The caller has locked the enabled endpoint.
 * @throws DomainError payload_purged
 */
export async function requestAttempt(tx: Transaction, delivery: DeliveryToWake, now: Date): Promise<void> {
  // An attempt that is already requested becomes due now and keeps its kind, because the kind decides the effect of its failure.
  const rows = await tx.run(
    sql`UPDATE webhook_deliveries
        SET requested = coalesce(requested, 'manual'), parked_at = NULL, next_attempt_at = ${now}
      WHERE id = ${delivery.id} AND payload_purged_at IS NULL AND created_at > ${earliestBody(now)}`,
  );
  if (rows === 0) throw payloadPurged();
  await wake(tx, 'webhookDelivery', [delivery], now);
}

export const payloadPurged = () =>
  new DomainError('payload_purged', 'The body of this event was deleted; it cannot be sent again.');

/**
 * Finds the deliveries that failed since the given time, or that were canceled when the endpoint was disabled. Sets them back to `pending`
 * for one attempt each. The gate releases a few deliveries at a time. A long history is recovered in parts, so that no transaction holds
 * the endpoint's row for long. If a part fails, the next call recovers the rest. Deliveries that were canceled by a removal or an expiry
 * have no body, so they stay canceled.
 * @param since at most 30 days ago, because older bodies are deleted
 * @returns the number of recovered deliveries
 * @throws DomainError not_found, endpoint_not_enabled; invalid_request for a date in the future
 */
export async function recoverDeliveries(
  { db }: VaultDeps,
  clubId: Id,
  endpointId: Id,
  since: Date,
  now: Date,
): Promise<{ recovered: number }> {
  if (since > now) throw new DomainError('invalid_request', 'since must not be in the future.');
  const from = new Date(Math.max(since.getTime(), earliestBody(now).getTime()));
  let recovered = 0;
  for (;;) {
    const some = await db.transaction(async (tx) => {
      await lockEnabledEndpoint(tx, clubId, endpointId);
      return recoverSome(tx, { clubId, endpointId }, { since: from, until: recovered === 0 ? null : now }, now);
    });
    recovered += some;
    if (some === 0) return { recovered };
  }
}

/** A larger transaction would lock the endpoint's row for seconds. */
const recoveryBatch = 2_000;

/**
 * @param ended the range of the times at which deliveries ended. Every part except the first has an upper limit. So a recovered delivery
 * that fails again is not found a second time
 */
async function recoverSome(
  tx: Transaction,
  { clubId, endpointId }: { clubId: Id; endpointId: Id },
  ended: { since: Date; until: Date | null },
  now: Date,
): Promise<number> {
  const found = await tx.rows<{ id: Id }>(
    sql`SELECT id FROM webhook_deliveries
         WHERE ${all([
           sql`endpoint_id = ${endpointId} AND status IN ('failed', 'canceled') AND cancel_reason IS NULL`,
           sql`completed_at >= ${ended.since}`,
           ended.until === null ? undefined : sql`completed_at <= ${ended.until}`,
           sql`created_at > ${earliestBody(now)} AND payload_purged_at IS NULL`,
         ])}
         LIMIT ${recoveryBatch}`,
  );
  const ids = found.map(({ id }) => id);
  await lockDeliveries(tx, ids);
  const recovered = await tx.run(
    sql`UPDATE webhook_deliveries
        SET status = 'pending', completed_at = NULL, requested = 'recovery', next_attempt_at = ${now}, parked_at = ${now}
      WHERE id = ANY (${ids})
        -- Checks each delivery again. While the statement waited for the lock, the delivery may have ended differently, or a removal may
        -- have deleted its body.
        AND status IN ('failed', 'canceled') AND cancel_reason IS NULL AND payload_purged_at IS NULL`,
  );
  if (recovered > 0) {
    await tx.manager.update(WebhookEndpoint, { id: endpointId }, { gateLooksAt: now });
    await callGate(tx, { endpointId, clubId }, now);
  }
  return recovered;
}

/** The earliest creation time of deliveries with bodies that do not expire soon. */
export const earliestBody = (now: Date) => new Date(now.getTime() - deliveryRules.expiryMs);
