/**
 * Reads the state of a delivery. A delivery either has ended, or waits for a time, for the end of a lease, or for its gate. The module also
 * parks a delivery that must wait for its gate (HOOK-4).
 */
import type { Database } from '../../../platform/infra/postgres/database.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { prepared } from '../../../platform/infra/postgres/prepared.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { AttemptTrigger } from '../../../entities/webhooks/values.ts';
import { ending } from '../deliveries/ending.ts';
import { deliveryRules } from '../deliveries/schedule.policy.ts';
import { callGate } from '../deliveries/wakes.ts';

/** The delivery's state in Postgres. Times are Unix milliseconds. */
export type DeliveryStep =
  | { done: true; outcome: 'succeeded' | 'failed' | 'canceled' }
  | { done: false; at: number; waitingFor: 'attempt' | 'lease' | 'endpoint' | 'gate'; attempt: number };

interface StateRow {
  status: 'pending' | 'succeeded' | 'failed' | 'canceled';
  dueAt: Date;
  leaseUntil: Date | null;
  createdAt: Date;
  attempt: number;
  /** The manual attempt that was requested or interrupted. It is due immediately. */
  manual: Exclude<AttemptTrigger, 'schedule'> | null;
  parked: boolean;
  endpointStatus: 'enabled' | 'paused' | 'disabled';
  throttled: boolean;
  admitted: boolean;
}

/**
 * Reads the state of a delivery. If the delivery is due but must wait for its gate, the function parks the delivery. If the delivery has
 * been pending for 30 days, the function cancels it.
 * @param now Unix milliseconds
 * @returns the state; undefined if an attempt may be claimed immediately
 */
export async function readState(db: Database, id: Id, now: number): Promise<DeliveryStep | undefined> {
  const [row] = await selectState(db.source, { id });
  if (!row) return { done: true, outcome: 'canceled' }; // maintenance has deleted the delivery together with its endpoint
  if (row.status !== 'pending' && row.manual === null) return { done: true, outcome: row.status };

  const waiting = { done: false, attempt: row.attempt } as const;
  if (row.leaseUntil) return { ...waiting, waitingFor: 'lease', at: row.leaseUntil.getTime() };
  const expiresAt = row.createdAt.getTime() + deliveryRules.expiryMs;
  if (expiresAt <= now) return expire(db, id, now);
  if (row.manual === null && row.dueAt.getTime() > now) {
    return { ...waiting, waitingFor: 'attempt', at: Math.min(row.dueAt.getTime(), expiresAt) };
  }
  if (canGo(row) && !(row.parked && row.manual === 'recovery')) return undefined;
  if (!row.parked && !(await park(db, id, now))) return undefined;
  return { ...waiting, waitingFor: row.endpointStatus === 'enabled' ? 'gate' : 'endpoint', at: expiresAt };
}

const selectState = prepared<StateRow, { id: Id }>(
  'delivery_now',
  (value) => `SELECT delivery.status, delivery.next_attempt_at AS "dueAt", delivery.created_at AS "createdAt",
            CASE WHEN delivery.lease_until > clock_timestamp() THEN delivery.lease_until END AS "leaseUntil",
            delivery.attempt_count + 1 AS attempt, CASE WHEN delivery.payload_purged_at IS NULL THEN coalesce(delivery.in_flight, delivery.requested) END AS manual,
            delivery.parked_at IS NOT NULL AS parked, endpoint.status AS "endpointStatus",
            endpoint.breaker_step > 0 AS throttled, endpoint.admitted_delivery_id IS NOT DISTINCT FROM delivery.id AS admitted
       FROM webhook_deliveries delivery JOIN webhook_endpoints endpoint ON endpoint.id = delivery.endpoint_id
      WHERE delivery.id = ${value.id}`,
);

/** Manual attempts, recoveries and tests do not wait for the breaker (DEL-5). A paused endpoint gets no attempt. */
function canGo({ endpointStatus, throttled, admitted, manual }: Omit<StateRow, 'leaseUntil'>): boolean {
  return endpointStatus === 'enabled' && (!throttled || admitted || manual !== null);
}

/**
 * Hands the delivery to its endpoint's gate. The endpoint is locked before it is read, so that the end of a pause or a throttling finds
 * this delivery parked.
 * @returns false if the pause or throttling ended before the lock, or another worker has the delivery
 */
function park(db: Database, id: Id, now: number): Promise<boolean> {
  return db.transaction(async (tx) => {
    const gate = await tx.one<{ endpointId: Id; clubId: Id; shut: boolean; call: boolean }>(
      sql`SELECT endpoint.id AS "endpointId", endpoint.club_id AS "clubId",
              endpoint.status <> 'enabled' OR endpoint.breaker_step > 0 AS shut,
              endpoint.status = 'enabled' AND endpoint.admitted_delivery_id IS NULL
                AND (endpoint.gate_looks_at IS NULL OR endpoint.gate_looks_at > greatest(endpoint.hold_until, ${new Date(now)}) + interval '1 s')
                AS call
         FROM webhook_endpoints endpoint
        WHERE id = (SELECT endpoint_id FROM webhook_deliveries WHERE id = ${id}) FOR SHARE`,
    );
    if (!gate?.shut) return false;
    const parked = await tx.run(
      sql`UPDATE webhook_deliveries SET parked_at = ${new Date(now)}
        WHERE id = ${id} AND parked_at IS NULL AND (lease_until IS NULL OR lease_until < clock_timestamp())
          AND (status = 'pending' OR requested IS NOT NULL OR in_flight IS NOT NULL)`,
    );
    if (parked === 0) return false;
    // Signals the gate. No signal is needed if the gate can admit no delivery before its own timer ends.
    if (gate.call) await callGate(tx, gate, new Date(now));
    return true;
  });
}

/** Cancels a delivery after 30 days (STATE-13), because its body is about to be purged (DEL-8). */
async function expire(db: Database, id: Id, now: number): Promise<DeliveryStep | undefined> {
  const expired = await db.one<{ status: 'succeeded' | 'failed' | 'canceled' }>(
    sql`UPDATE webhook_deliveries
        SET ${ending({ now: new Date(now), reason: 'expired' })}
      WHERE id = ${id} AND (lease_until IS NULL OR lease_until < clock_timestamp())
  RETURNING status`,
  );
  // `expired` is undefined if another worker has claimed the delivery before this change.
  return expired ? { done: true, outcome: expired.status } : readState(db, id, now);
}
