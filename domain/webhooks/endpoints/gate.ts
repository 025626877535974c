/**
 * The gate of an endpoint: which delivery it admits while throttled, and how it releases parked deliveries afterwards
 * (HOOK-5, HOOK-6). A step of `endpoint-gate/<endpoint id>`.
 */
import type { Database, Transaction } from '../../../platform/infra/postgres/database.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Vault } from '../../../platform/infra/vault.ts';
import { failingDeadline, isThrottled } from './breaker.policy.ts';
import { leaseSeconds } from '../deliveries/attempts.ts';
import { cancelSome, closeEndpoint } from './queue.ts';
import { columnsToWake, type DeliveryToWake } from '../wakes.ts';
import { wake } from '../../../platform/engine/wakes.ts';

export const gateRules = {
  /** Recovered deliveries under way at a time. */
  recoveriesAtATime: 4,
  /** The largest page of parked deliveries that is released at once; pages begin at 1 and double. */
  largestPage: 64,
} as const;

/** What the gate is doing, for the operator who reads its run. Times in Unix milliseconds. */
export type GateStep =
  | { done: true; outcome: 'open' | 'disabled' | 'deleted' }
  | {
      done: false;
      at: number;
      /**
       * `paused`: nothing passes; `holding`: the breaker's wait; `probing`: one delivery was admitted; `idle`: throttled,
       * nothing parked; `releasing`: parked deliveries are released in pages; `recovering`: recovered deliveries go, a few at a time;
       * `canceling`: the endpoint is disabled, and what is left of a long queue is canceled.
       */
      doing: 'paused' | 'holding' | 'probing' | 'idle' | 'releasing' | 'recovering' | 'canceling';
      parked: number;
      /** When the endpoint is given up as failing, unless a delivery is accepted. */
      givenUpAt?: number;
    };

export interface GateDeps {
  db: Database;
  vault: Vault;
}

/** While it only waits to be called, the gate looks once a day all the same. */
const dayMs = 86_400_000;
/** Between two pages. */
const pageEveryMs = 1_000;
/** How soon it looks whether an attempt that it let through has been lost; a recorded one calls it. */
const overdueMs = (leaseSeconds + 5) * 1_000;

/** Parked deliveries are counted for people, so not beyond what a person tells apart. */
const maxCounted = 10_000;

/** Takes the gate one step further. @param now Unix milliseconds */
export function tendGate({ db, vault }: GateDeps, endpointId: Id, now: number): Promise<GateStep> {
  return db.transaction(async (tx) => {
    const endpoint = await lockEndpoint(tx, endpointId);
    if (!endpoint) return { done: true, outcome: 'deleted' };
    const deadline = endpoint.status === 'enabled' ? failingDeadline(endpoint)?.getTime() : undefined;
    if (deadline !== undefined && deadline <= now) {
      const more = await closeEndpoint(tx, vault, endpoint, 'failing', new Date(now));
      return more ? { done: false, doing: 'canceling', at: now, parked: 0 } : { done: true, outcome: 'disabled' };
    }
    const step = await releaseDue(tx, endpoint, now);
    if (step.done) {
      await tx.query(`UPDATE webhook_endpoints SET gate_looks_at = NULL WHERE id = $1`, [endpointId]);
      return step;
    }
    const at = Math.min(step.at, deadline ?? step.at);
    await tx.query(`UPDATE webhook_endpoints SET gate_looks_at = $2 WHERE id = $1`, [endpointId, new Date(at)]);
    const parked = await countParked(tx, endpointId);
    return { ...step, at, parked, ...(deadline !== undefined && { givenUpAt: deadline }) };
  });
}

interface GatedEndpoint {
  id: Id;
  clubId: Id;
  status: 'enabled' | 'paused' | 'disabled';
  consecutiveFailures: number;
  failingSince: Date | null;
  enabledAt: Date | null;
  holdUntil: Date | null;
  breakerStep: number;
  admittedDeliveryId: Id | null;
  releasePage: number;
}

/** The lock is what makes ending safe: a delivery that parks holds the row too, so it parks before or after, never meanwhile. */
async function lockEndpoint(tx: Transaction, endpointId: Id): Promise<GatedEndpoint | undefined> {
  const [endpoint] = await tx.query<GatedEndpoint[]>(
    `SELECT id, club_id AS "clubId", status, consecutive_failures AS "consecutiveFailures", failing_since AS "failingSince",
            enabled_at AS "enabledAt", hold_until AS "holdUntil", breaker_step AS "breakerStep",
            admitted_delivery_id AS "admittedDeliveryId", release_page AS "releasePage"
       FROM webhook_endpoints WHERE id = $1 FOR NO KEY UPDATE`,
    [endpointId],
  );
  return endpoint;
}

type Doing = Extract<GateStep, { done: false }>['doing'];
type Release = { done: true; outcome: 'open' | 'disabled' } | { done: false; at: number; doing: Doing };

/** Releases the deliveries that can go now. @returns what the gate is doing, and when it looks again by itself */
async function releaseDue(tx: Transaction, endpoint: GatedEndpoint, now: number): Promise<Release> {
  if (endpoint.status === 'disabled') {
    const more = await cancelSome(tx, endpoint.id, new Date(now));
    return more ? { done: false, doing: 'canceling', at: now } : { done: true, outcome: 'disabled' };
  }
  if (endpoint.status === 'paused') return { done: false, doing: 'paused', at: now + dayMs };
  const recovering = await releaseRecoveries(tx, endpoint.id, now);
  const own = isThrottled(endpoint) ? await admitOne(tx, endpoint, now) : await releasePage(tx, endpoint, now);
  if (!recovering) return own;
  const at = now + overdueMs;
  return own.done ? { done: false, doing: 'recovering', at } : { ...own, at: Math.min(own.at, at) };
}

/** @returns whether any recovered delivery is under way or waits: each that is recorded calls the gate for the next */
async function releaseRecoveries(tx: Transaction, endpointId: Id, now: number): Promise<boolean> {
  const [underway] = await tx.query<{ count: number }[]>(
    `SELECT count(*)::int AS count FROM webhook_deliveries
      WHERE endpoint_id = $1 AND status = 'pending' AND parked_at IS NULL
        AND 'recovery' IN (requested, in_flight)`,
    [endpointId],
  );
  const busy = underway?.count ?? 0;
  const released = await release(tx, endpointId, recovery, gateRules.recoveriesAtATime - busy, now);
  return busy + released.length > 0;
}

/**
 * While throttled: one at a time, once the hold is over, the one with the earliest due time, so that a message which the
 * receiver never accepts goes to the back of the queue. With none parked it neither probes nor doubles.
 */
async function admitOne(tx: Transaction, endpoint: GatedEndpoint, now: number): Promise<Release> {
  const holdUntil = endpoint.holdUntil?.getTime() ?? now;
  if (holdUntil > now) return { done: false, doing: 'holding', at: holdUntil };
  if (!(await isUnderWay(tx, endpoint.admittedDeliveryId))) {
    const [admitted] = await release(tx, endpoint.id, usual, 1, now);
    await tx.query(`UPDATE webhook_endpoints SET admitted_delivery_id = $2, release_page = 0 WHERE id = $1`, [
      endpoint.id,
      admitted?.id ?? null,
    ]);
    if (!admitted) {
      // One that somebody else was writing just now is parked all the same.
      const passedOver = (await countWaiting(tx, endpoint.id, usual)) > 0;
      return { done: false, doing: 'idle', at: now + (passedOver ? pageEveryMs : dayMs) };
    }
  }
  return { done: false, doing: 'probing', at: now + overdueMs };
}

/** The admitted delivery counts until its attempt is recorded, or its lease is over; canceled before it began, it counts no more. */
async function isUnderWay(tx: Transaction, deliveryId: Id | null): Promise<boolean> {
  if (deliveryId === null) return false;
  const rows = await tx.query<unknown[]>(
    `SELECT 1 FROM webhook_deliveries
      WHERE id = $1 AND parked_at IS NULL
        AND (status = 'pending' OR in_flight IS NOT NULL OR lease_until > clock_timestamp())`,
    [deliveryId],
  );
  return rows.length > 0;
}

/**
 * Not throttled: what has parked goes in pages of 1, 2, 4 … 64. A page grows while no more than half of the one before is
 * still under way, and begins again at 1 after a failure. A pause, a disable or a new arming stops it by itself: the gate
 * looks at those first. At least one goes a turn, so that steady arrivals do not keep the parked waiting.
 */
async function releasePage(tx: Transaction, endpoint: GatedEndpoint, now: number): Promise<Release> {
  const underway = await countUnderWay(tx, endpoint.id, now);
  const page = nextPage(endpoint, underway);
  await release(tx, endpoint.id, usual, Math.max(1, page - underway), now);
  const more = (await countWaiting(tx, endpoint.id, usual)) > 0;
  await tx.query(`UPDATE webhook_endpoints SET release_page = $2 WHERE id = $1`, [endpoint.id, more ? page : 0]);
  return more ? { done: false, doing: 'releasing', at: now + pageEveryMs } : { done: true, outcome: 'open' };
}

function nextPage({ consecutiveFailures, releasePage: last }: GatedEndpoint, underway: number): number {
  if (consecutiveFailures > 0 || last === 0) return 1;
  return underway > last / 2 ? last : Math.min(gateRules.largestPage, last * 2);
}

/** Counts deliveries that are due and not parked: released ones and new ones, up to the largest page. */
async function countUnderWay(tx: Transaction, endpointId: Id, now: number): Promise<number> {
  const [row] = await tx.query<{ count: number }[]>(
    `SELECT count(*)::int AS count FROM (
       SELECT FROM webhook_deliveries
        WHERE endpoint_id = $1 AND status = 'pending' AND parked_at IS NULL AND next_attempt_at <= $2 LIMIT $3) underway`,
    [endpointId, new Date(now), gateRules.largestPage],
  );
  return row?.count ?? 0;
}

/** Parked deliveries, by the way in which they are released; each condition has its own index. */
const usual = `requested IS DISTINCT FROM 'recovery'`;
const recovery = `requested = 'recovery'`;

async function countParked(tx: Transaction, endpointId: Id): Promise<number> {
  return (await countWaiting(tx, endpointId, usual)) + (await countWaiting(tx, endpointId, recovery));
}

/** @returns how many wait, up to `maxCounted` */
async function countWaiting(tx: Transaction, endpointId: Id, condition: string): Promise<number> {
  const [row] = await tx.query<{ count: number }[]>(
    `SELECT count(*)::int AS count FROM (
       SELECT FROM webhook_deliveries WHERE endpoint_id = $1 AND parked_at IS NOT NULL AND ${condition} LIMIT $2) parked`,
    [endpointId, maxCounted],
  );
  return row?.count ?? 0;
}

/**
 * Unparks up to so many and wakes their workflows; they are due from now, so that the sweeper does not take them for
 * overdue. One that somebody else is writing just now is left for the next time.
 */
async function release(
  tx: Transaction,
  endpointId: Id,
  condition: string,
  count: number,
  now: number,
): Promise<DeliveryToWake[]> {
  if (count <= 0) return [];
  const [released] = await tx.query<[DeliveryToWake[], number]>(
    `UPDATE webhook_deliveries delivery SET parked_at = NULL, next_attempt_at = greatest(delivery.next_attempt_at, $3)
       FROM (SELECT id FROM webhook_deliveries
              WHERE endpoint_id = $1 AND parked_at IS NOT NULL AND ${condition}
              ORDER BY next_attempt_at, id LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED) next
      WHERE delivery.id = next.id
  RETURNING ${columnsToWake('delivery')}`,
    [endpointId, count, new Date(now)],
  );
  await wake(tx, 'webhookDelivery', released, new Date(now));
  return released;
}
