/**
 * The direct lane (ADR 36): the process that fans a fact out makes the first attempt at a healthy endpoint itself, without a run.
 * Claim, attempt and record are those of the step; what is not accepted, or cut off, is handed over to a run.
 */
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { Database, Transaction } from '../../../platform/infra/postgres/database.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { wake } from '../../../platform/engine/wakes.ts';
import { columnsToWake, wakeInPlaceOf, type DeliveryToWake } from '../deliveries/wakes.ts';
import type { Claim } from './attempt.ts';

/** Where a process makes first attempts that a fan-out claims. */
export interface Lane {
  /** @returns whether the attempt has a slot, and had none. It keeps it until it has ended, or until it is given back. */
  take(attempt: { deliveryId: Id; endpointId: Id; url: string }): boolean;
  /** For attempts that are not to be made: their transaction was rolled back. */
  giveBack(deliveryIds: readonly Id[]): void;
}

/** Makes them without a run. */
export interface DirectLane extends Lane {
  /** Waits a little while hardly a slot is free. */
  ready(): Promise<void>;
  /** Makes the attempts. Their transaction has committed. */
  begin(claimed: readonly ClaimedDelivery[]): void;
}

/** A delivery whose first attempt a fan-out has claimed for its own process. */
export interface ClaimedDelivery {
  id: Id;
  claim: Claim;
  /** By `performance.now()`. */
  claimedAt: number;
  /** The span of its fact; absent where nothing is traced. */
  traceparent?: string;
}

/** A claim that is older is not posted: its process stood still, and its lease may be over before the answer. In milliseconds. */
export const oldestClaimMs = 5_000;

/** Hands a claimed delivery over to its run, whose attempt was not begun: it leaves no attempt. */
export async function returnClaim(db: Database, { id, claim }: ClaimedDelivery, now: Date): Promise<void> {
  await db.transaction(async (tx) => {
    const returned = await tx.one<OpenDelivery & { asked: boolean }>(
      sql`UPDATE webhook_deliveries SET lease_until = NULL, direct = false
           WHERE id = ${id} AND fence = ${claim.fence} AND lease_until IS NOT NULL
       RETURNING ${columnsToWake()}, ${isOpen} AS open, requested IS NOT NULL OR in_flight IS NOT NULL AS asked`,
    );
    if (!returned) return;
    await tx.run(
      sql`DELETE FROM webhook_attempts WHERE delivery_id = ${id} AND fence = ${claim.fence} AND started_at = ${claim.startedAt}`,
    );
    if (returned.open) await wakeInPlaceOf(tx, claim, returned, now);
  });
}

/** Deliveries that are handed over in one transaction. */
const handedOverAtOnce = 256;

/**
 * Hands deliveries over to runs whose direct attempt was not recorded within its lease. The claim of the run marks the attempt
 * `interrupted`.
 * @returns how many
 */
export function handOverLost(db: Database, now: Date): Promise<number> {
  return db.transaction(async (tx) => {
    const lost = await tx.rows<OpenDelivery>(
      sql`UPDATE webhook_deliveries SET direct = false
           WHERE id IN (SELECT id FROM webhook_deliveries WHERE direct AND lease_until < clock_timestamp()
                         ORDER BY id LIMIT ${handedOverAtOnce} FOR NO KEY UPDATE SKIP LOCKED)
       RETURNING ${columnsToWake()}, ${isOpen} AS open`,
    );
    await wakeOpen(tx, lost, now);
    return lost.length;
  });
}

type OpenDelivery = DeliveryToWake & { open: boolean };

/** Something is still to be sent. */
const isOpen = sql`(status = 'pending' OR requested IS NOT NULL OR in_flight IS NOT NULL)`;

async function wakeOpen(tx: Transaction, deliveries: readonly OpenDelivery[], now: Date): Promise<void> {
  const open = deliveries.filter((delivery) => delivery.open);
  await wake(tx, 'webhookDelivery', open, now);
}
