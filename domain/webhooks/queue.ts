/** Disabling an endpoint, by hand or because it fails: nothing new is created, and its queue is canceled (States: Webhook endpoint). */
import type { Transaction } from '../core/database.ts';
import type { Id } from '../core/ids.ts';
import type { Vault } from '../core/secrets.ts';
import { requestMail } from '../mail/requests.ts';
import { columnsToWake, wakeDeliveries, type DeliveryToWake } from './wakes.ts';

/**
 * Disables the endpoint, whose row the caller has locked, and cancels its queue in the same transaction. Given up as
 * `failing`, its club's administrators are told by e-mail.
 */
export async function disableEndpoint(
  tx: Transaction,
  vault: Vault,
  { id, clubId }: { id: Id; clubId: Id },
  reason: 'manual' | 'failing',
  now: Date,
): Promise<void> {
  await tx.query(
    `UPDATE webhook_endpoints
        SET status = 'disabled', disabled_reason = $2, disabled_at = $3, updated_at = $3,
            hold_until = NULL, breaker_step = 0, breaker_epoch = breaker_epoch + 1, admitted_delivery_id = NULL, gate_looks_at = NULL
      WHERE id = $1`,
    [id, reason, now],
  );
  await cancelQueue(tx, id, now);
  if (reason === 'failing') await tellAdministrators(tx, vault, { id, clubId }, now);
}

/**
 * Cancels what is unsent, without a `cancel_reason`, and wakes its workflows so that they end. What was asked for beside
 * the schedule goes too. An attempt in flight is still recorded when it returns.
 */
export async function cancelQueue(tx: Transaction, endpointId: Id, now: Date): Promise<void> {
  // Locked in the order of their ids, as everywhere where several are.
  await tx.query(
    `SELECT FROM webhook_deliveries
      WHERE endpoint_id = $1
        AND (status = 'pending' OR (status <> 'pending' AND (requested IS NOT NULL OR in_flight IS NOT NULL)))
      ORDER BY id FOR NO KEY UPDATE`,
    [endpointId],
  );
  const [canceled] = await tx.query<[DeliveryToWake[], number]>(
    `UPDATE webhook_deliveries
        SET status = 'canceled', completed_at = $2, requested = NULL, in_flight = NULL, parked_at = NULL
      WHERE endpoint_id = $1 AND status = 'pending' RETURNING ${columnsToWake}`,
    [endpointId, now],
  );
  const [dropped] = await tx.query<[DeliveryToWake[], number]>(
    `UPDATE webhook_deliveries SET requested = NULL, in_flight = NULL, parked_at = NULL
      WHERE endpoint_id = $1 AND status <> 'pending' AND (requested IS NOT NULL OR in_flight IS NOT NULL)
  RETURNING ${columnsToWake}`,
    [endpointId],
  );
  await wakeDeliveries(tx, [...canceled, ...dropped], now);
}

/** Who may administer webhook endpoints is told that one was given up. */
async function tellAdministrators(
  tx: Transaction,
  vault: Vault,
  { id: endpointId, clubId }: { id: Id; clubId: Id },
  now: Date,
): Promise<void> {
  const administrators = await tx.query<{ id: Id; email: string }[]>(
    `SELECT administrator.id, administrator.email
       FROM memberships JOIN administrators administrator ON administrator.id = memberships.administrator_id
      WHERE memberships.club_id = $1 AND memberships.role IN ('owner', 'admin') ORDER BY administrator.id`,
    [clubId],
  );
  for (const { id, email } of administrators) {
    const recipient = { administratorId: id };
    await requestMail(tx, vault, { template: 'webhook_endpoint_failing', clubId, recipient, email, endpointId }, now);
  }
}
