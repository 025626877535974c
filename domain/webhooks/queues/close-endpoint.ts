/** Disables an endpoint, by hand or because of its failures, and cancels its queue (STATE-5, STATE-6, HOOK-9). */
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { DisabledReason } from '../../../entities/webhooks/values.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import { mailAdministrators } from '../endpoints/administrator-mails.ts';
import { lockDeliveries } from '../deliveries/deliveries.ts';
import { ending } from '../deliveries/ending.ts';
import { callGate, columnsToWake, wakeManyDeliveries, type DeliveryToWake } from '../deliveries/wakes.ts';

/** A larger transaction would lock the endpoint's row for seconds. */
const cancelBatch = 2_000;

/**
 * Disables the endpoint, and cancels its queue of deliveries in the same transaction. The caller has locked the endpoint's row. If the
 * queue is long, the function cancels only the first part of the queue, and the gate cancels the rest. No worker can claim a delivery of a
 * disabled endpoint. If the service disables the endpoint, the administrators of the club get an e-mail.
 * @returns whether more deliveries must be canceled
 */
export async function closeEndpoint(
  tx: Transaction,
  vault: Vault,
  { id, clubId }: { id: Id; clubId: Id },
  reason: DisabledReason,
  now: Date,
): Promise<boolean> {
  const more = await cancelSome(tx, id, now);
  await tx.run(
    sql`UPDATE webhook_endpoints
        SET status = 'disabled', disabled_reason = ${reason}, disabled_at = ${now}, updated_at = ${now},
            hold_until = NULL, breaker_step = 0, breaker_epoch = breaker_epoch + 1, admitted_delivery_id = NULL,
            release_page = 0, throttled_since = NULL, throttle_mailed_at = NULL, gate_looks_at = ${more ? now : null}
      WHERE id = ${id}`,
  );
  if (more) await callGate(tx, { endpointId: id, clubId }, now);
  if (reason !== 'manual') await mailAdministrators(tx, vault, { id, clubId }, `webhook_endpoint_${reason}`, now);
  return more;
}

/**
 * Cancels unsent deliveries and manual attempts, without a `cancel_reason`, and wakes their workflows to end. The result of an attempt in
 * flight is still recorded.
 * @returns whether more deliveries must be canceled
 */
export async function cancelSome(tx: Transaction, endpointId: Id, now: Date): Promise<boolean> {
  const found = await tx.rows<{ id: Id }>(
    sql`(SELECT id FROM webhook_deliveries WHERE endpoint_id = ${endpointId} AND status = 'pending' LIMIT ${cancelBatch})
         UNION ALL
        (SELECT id FROM webhook_deliveries
          WHERE endpoint_id = ${endpointId} AND status <> 'pending' AND (requested IS NOT NULL OR in_flight IS NOT NULL)
          LIMIT ${cancelBatch})`,
  );
  const ids = found.map(({ id }) => id);
  await lockDeliveries(tx, ids);
  const ended = await tx.rows<DeliveryToWake>(
    sql`UPDATE webhook_deliveries SET ${ending({ now, reason: null })} WHERE id = ANY (${ids}) RETURNING ${columnsToWake()}`,
  );
  await wakeManyDeliveries(tx, ended, now);
  return ended.length >= cancelBatch;
}
