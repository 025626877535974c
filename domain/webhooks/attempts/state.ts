/** What a delivery without a possible attempt waits for: its time, its lease, its endpoint's gate, or nothing any more (HOOK-4). */
import type { Database } from '../../../platform/infra/postgres/database.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { prepared } from '../../../platform/infra/postgres/prepared.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { AttemptTrigger } from '../../../entities/webhooks/values.ts';
import { ending } from '../deliveries/ending.ts';
import { deliveryRules } from '../deliveries/schedule.policy.ts';
import { callGate } from '../deliveries/wakes.ts';

/** What Postgres holds after a step. Times in Unix milliseconds. */
export type DeliveryStep =
  | { done: true; outcome: 'succeeded' | 'failed' | 'canceled' }
  | { done: false; at: number; waitingFor: 'attempt' | 'lease' | 'endpoint' | 'gate'; attempt: number };

interface DeliveryNow {
  status: 'pending' | 'succeeded' | 'failed' | 'canceled';
  dueAt: Date;
  leaseUntil: Date | null;
  createdAt: Date;
  attempt: number;
  /** An attempt beside the schedule was asked for, or was interrupted: due at once. */
  asked: Exclude<AttemptTrigger, 'schedule'> | null;
  parked: boolean;
  endpointStatus: 'enabled' | 'paused' | 'disabled';
  throttled: boolean;
  admitted: boolean;
}

/**
 * Parks what is due and may not go, and cancels what has been pending for 30 days.
 * @returns what the row says now; undefined where it may be claimed at once
 */
export async function readState(db: Database, id: Id, now: number): Promise<DeliveryStep | undefined> {
  const [row] = await deliveryNow(db.source, [id]);
  if (!row) return { done: true, outcome: 'canceled' }; // its endpoint was deleted, and the delivery with it
  if (row.status !== 'pending' && row.asked === null) return { done: true, outcome: row.status };

  const waiting = { done: false, attempt: row.attempt } as const;
  if (row.leaseUntil) return { ...waiting, waitingFor: 'lease', at: row.leaseUntil.getTime() };
  const expiresAt = row.createdAt.getTime() + deliveryRules.expiryMs;
  if (expiresAt <= now) return expire(db, id, now);
  if (row.asked === null && row.dueAt.getTime() > now) {
    return { ...waiting, waitingFor: 'attempt', at: Math.min(row.dueAt.getTime(), expiresAt) };
  }
  if (canGo(row) && !(row.parked && row.asked === 'recovery')) return undefined;
  if (!row.parked && !(await park(db, id, now))) return undefined;
  return { ...waiting, waitingFor: row.endpointStatus === 'enabled' ? 'gate' : 'endpoint', at: expiresAt };
}

const deliveryNow = prepared<DeliveryNow>(
  'delivery_now',
  `SELECT delivery.status, delivery.next_attempt_at AS "dueAt", delivery.created_at AS "createdAt",
            CASE WHEN delivery.lease_until > clock_timestamp() THEN delivery.lease_until END AS "leaseUntil",
            delivery.attempt_count + 1 AS attempt, CASE WHEN delivery.payload_purged_at IS NULL THEN coalesce(delivery.in_flight, delivery.requested) END AS asked,
            delivery.parked_at IS NOT NULL AS parked, endpoint.status AS "endpointStatus",
            endpoint.breaker_step > 0 AS throttled, endpoint.admitted_delivery_id IS NOT DISTINCT FROM delivery.id AS admitted
       FROM webhook_deliveries delivery JOIN webhook_endpoints endpoint ON endpoint.id = delivery.endpoint_id
      WHERE delivery.id = $1`,
);

/** Manual attempts, recoveries and tests do not wait for the breaker (DEL-5). Nothing goes to a paused endpoint. */
function canGo({ endpointStatus, throttled, admitted, asked }: Omit<DeliveryNow, 'leaseUntil'>): boolean {
  return endpointStatus === 'enabled' && (!throttled || admitted || asked !== null);
}

/**
 * Hands the delivery to its endpoint's gate. The endpoint is read under a lock first, so that whoever opens it, and pages
 * through the parked afterwards, finds this one.
 * @returns false where the endpoint has opened meanwhile, or somebody else has taken the delivery up
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
    // A gate that looks by itself before anything could be let through needs no signal.
    if (gate.call) await callGate(tx, gate, new Date(now));
    return true;
  });
}

/** Cancels a delivery after 30 days (STATE-13): the body is about to be purged (DEL-8). */
async function expire(db: Database, id: Id, now: number): Promise<DeliveryStep | undefined> {
  const expired = await db.one<{ status: 'succeeded' | 'failed' | 'canceled' }>(
    sql`UPDATE webhook_deliveries
        SET ${ending({ now: new Date(now), reason: 'expired' })}
      WHERE id = ${id} AND (lease_until IS NULL OR lease_until < clock_timestamp())
  RETURNING status`,
  );
  // Nobody else may have claimed it meanwhile: then the row says how it stands.
  return expired ? { done: true, outcome: expired.status } : readState(db, id, now);
}
