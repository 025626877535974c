/** Attempts that an administrator requests beside the schedule: a resend, a recovery (DEL-6, STATE-11, STATE-12, STATE-15). */
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
import { callGate } from './wakes.ts';
import { wake } from '../../../platform/engine/wakes.ts';

type WebhookDelivery = RecordOf<'WebhookDelivery'>;

/**
 * Asks for one manual attempt with the same body and `webhook-id`. A pending delivery is brought forward and stays on its
 * schedule; any other is attempted once, and its state changes only by a success.
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
      throw notFound('delivery'); // before the endpoint's state: 404 comes before 409
    }
    await lockEnabledEndpoint(tx, clubId, endpointId);
    // One that is already asked for, by whatever way, is only hurried: what it was asked for says what its failure means.
    const asked = await tx.run(
      sql`UPDATE webhook_deliveries
          SET requested = coalesce(requested, 'manual'), parked_at = NULL, next_attempt_at = ${now}
        WHERE id = ${deliveryId} AND payload_purged_at IS NULL AND created_at > ${earliestBody(now)}`,
    );
    if (asked === 0) {
      throw new DomainError('payload_purged', 'The body of this delivery was deleted; it cannot be sent again.');
    }
    await wake(tx, 'webhookDelivery', [{ id: deliveryId, clubId, endpointId, eventType: delivery.eventType }], now);
    return readDelivery(tx, deliveryId, now);
  });
}

/**
 * Sets what failed, or was canceled because the endpoint was disabled, since then back to `pending`, for one attempt each;
 * the gate lets a few go at a time. A long history is recovered in parts, so that the endpoint's row is never held for
 * long: a part that was interrupted leaves the rest for the next call. What a removal or the expiry canceled has no body any more and stays.
 * @param since one that is more than 30 days back counts as 30 days back: bodies of older deliveries are gone
 * @returns how many
 * @throws DomainError not_found, endpoint_not_enabled; invalid_request for a date in the future
 */
export async function recoverDeliveries(
  { db }: VaultDeps,
  clubId: Id,
  endpointId: Id,
  since: Date,
  now: Date,
): Promise<{ recovered: number }> {
  if (since > now) throw new DomainError('invalid_request', 'since: not in the future.');
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

/** Deliveries recovered in one transaction: more would hold the endpoint's row for seconds. */
const recoveredAtOnce = 2_000;

/** @param ended from when, and for all parts but the first until when: what fails again meanwhile is not found a second time */
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
         LIMIT ${recoveredAtOnce}`,
  );
  const ids = found.map(({ id }) => id);
  await lockDeliveries(tx, ids);
  const recovered = await tx.run(
    sql`UPDATE webhook_deliveries
        SET status = 'pending', completed_at = NULL, requested = 'recovery', next_attempt_at = ${now}, parked_at = ${now}
      WHERE id = ANY (${ids})
        -- Again, for what has ended otherwise, or lost its body to a removal, while it was waited for.
        AND status IN ('failed', 'canceled') AND cancel_reason IS NULL AND payload_purged_at IS NULL`,
  );
  if (recovered > 0) {
    await tx.manager.update(WebhookEndpoint, { id: endpointId }, { gateLooksAt: now });
    await callGate(tx, { endpointId, clubId }, now);
  }
  return recovered;
}

/** Bodies of what was created before are gone, or about to go. */
const earliestBody = (now: Date) => new Date(now.getTime() - deliveryRules.expiryMs);
