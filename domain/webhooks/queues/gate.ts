/**
 * The gate of an endpoint admits one delivery at a time while the endpoint is throttled, and later releases the parked deliveries (HOOK-5,
 * HOOK-6). This module is the step of the run `endpoint-gate/<endpoint id>`.
 */
import { WebhookEndpoint } from '../../../entities/webhooks/webhook-endpoint.ts';
import type { Database, Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns, sql, type RowOf, type Sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import { failingDeadline, isThrottled } from '../endpoints/breaker.policy.ts';
import { deliveryRules } from '../deliveries/schedule.policy.ts';
import { cancelSome, closeEndpoint } from './close-endpoint.ts';
import { columnsToWake, wakeManyDeliveries, type DeliveryToWake } from '../deliveries/wakes.ts';
import { wake } from '../../../platform/engine/wakes.ts';

export const gateRules = {
  /** The maximum number of recovered deliveries that are in progress at the same time. */
  recoveriesAtATime: 4,
  /**
   * The maximum number of parked deliveries in a page. The gate releases all deliveries of a page together. The first page has one
   * delivery, and each page can be twice as large as the page before.
   */
  largestPage: 64,
} as const;

/** Describes the gate for operators who read its run. Times are Unix milliseconds. */
export type GateStep =
  | { done: true; outcome: 'open' | 'disabled' | 'deleted' }
  | {
      done: false;
      at: number;
      /**
       * The present activity of the gate:
       * - `paused`: the endpoint is paused, and the gate releases no delivery.
       * - `holding`: the gate waits for the end of the breaker's hold.
       * - `probing`: the gate has admitted one delivery.
       * - `idle`: the endpoint is throttled, but no delivery is parked.
       * - `releasing`: the gate releases parked deliveries in pages.
       * - `recovering`: the gate releases recovered deliveries, a few at a time.
       * - `canceling`: the endpoint is disabled, and the gate cancels the rest of a long queue.
       */
      doing: 'paused' | 'holding' | 'probing' | 'idle' | 'releasing' | 'recovering' | 'canceling';
      parked: number;
      /** The endpoint is disabled then, unless a delivery is accepted before. */
      givenUpAt?: number;
    };

export interface GateDeps {
  db: Database;
  vault: Vault;
}

/** A gate that waits for a signal also checks its endpoint once a day. */
const dayMs = 86_400_000;
const pageEveryMs = 1_000;
/**
 * The time after which the gate checks whether an admitted attempt was lost. Usually this check is not needed, because the gate gets a
 * signal when the attempt is recorded.
 */
const overdueMs = (deliveryRules.leaseSeconds + 5) * 1_000;

/** The counts are only for operators. */
const maxCounted = 10_000;

/** Makes the next step of the gate. @param now Unix milliseconds */
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
      await tx.manager.update(WebhookEndpoint, { id: endpointId }, { gateLooksAt: null });
      return step;
    }
    const at = Math.min(step.at, deadline ?? step.at);
    await tx.manager.update(WebhookEndpoint, { id: endpointId }, { gateLooksAt: new Date(at) });
    const parked = await countParked(tx, endpointId);
    return { ...step, at, parked, ...(deadline !== undefined && { givenUpAt: deadline }) };
  });
}

const gated = columns(WebhookEndpoint, [
  'id',
  'clubId',
  'status',
  'consecutiveFailures',
  'failingSince',
  'enabledAt',
  'holdUntil',
  'breakerStep',
  'admittedDeliveryId',
  'releasePage',
]);
type GatedEndpoint = RowOf<typeof gated>;

/**
 * Locks the row of the endpoint. Parking a delivery also locks it, so it commits before or after this step. Otherwise the gate could end
 * while a delivery is parked.
 */
function lockEndpoint(tx: Transaction, endpointId: Id): Promise<GatedEndpoint | undefined> {
  return tx.one(sql`SELECT ${gated} FROM webhook_endpoints WHERE id = ${endpointId} FOR NO KEY UPDATE`);
}

type Doing = Extract<GateStep, { done: false }>['doing'];
type Release = { done: true; outcome: 'open' | 'disabled' } | { done: false; at: number; doing: Doing };

/**
 * Releases the deliveries that may be attempted now.
 * @returns the state of the gate, and when it runs again without a signal
 */
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

/**
 * @returns whether a recovered delivery is in progress or waits. When an attempt is recorded, the gate gets a signal and releases the next
 * recovered delivery
 */
async function releaseRecoveries(tx: Transaction, endpointId: Id, now: number): Promise<boolean> {
  const busy = await count(
    tx,
    sql`SELECT FROM webhook_deliveries
      WHERE endpoint_id = ${endpointId} AND status = 'pending' AND parked_at IS NULL
        AND 'recovery' IN (requested, in_flight)`,
  );
  const released = await release(tx, endpointId, recovery, gateRules.recoveriesAtATime - busy, now);
  return busy + released.length > 0;
}

/**
 * After the hold, admits one delivery at a time while the endpoint is throttled. It admits the delivery with the earliest due time. A
 * failed delivery gets a later due time. So a message that the receiver never accepts does not block the other deliveries. If no delivery
 * is parked, there is no attempt that can fail, so the hold does not double.
 */
async function admitOne(tx: Transaction, endpoint: GatedEndpoint, now: number): Promise<Release> {
  const holdUntil = endpoint.holdUntil?.getTime() ?? now;
  if (holdUntil > now) return { done: false, doing: 'holding', at: holdUntil };
  if (!(await isUnderWay(tx, endpoint.admittedDeliveryId))) {
    const [admitted] = await release(tx, endpoint.id, usual, 1, now);
    const change = { admittedDeliveryId: admitted?.id ?? null, releasePage: 0 };
    await tx.manager.update(WebhookEndpoint, { id: endpoint.id }, change);
    if (!admitted) {
      // A parked delivery was skipped, because another transaction has locked its row.
      const hasSkipped = (await countWaiting(tx, endpoint.id, usual)) > 0;
      return { done: false, doing: 'idle', at: now + (hasSkipped ? pageEveryMs : dayMs) };
    }
  }
  return { done: false, doing: 'probing', at: now + overdueMs };
}

/** An admitted delivery is in progress until its attempt is recorded, its lease expires, or it is canceled before the attempt. */
async function isUnderWay(tx: Transaction, deliveryId: Id | null): Promise<boolean> {
  if (deliveryId === null) return false;
  const row = await tx.one(
    sql`SELECT 1 FROM webhook_deliveries
      WHERE id = ${deliveryId} AND parked_at IS NULL
        AND (status = 'pending' OR in_flight IS NOT NULL OR lease_until > clock_timestamp())`,
  );
  return row !== undefined;
}

/**
 * Releases parked deliveries in pages of 1, 2, 4 … 64 while the endpoint is not throttled. If at most half of the last page is still in
 * progress, the next page is twice as large. After a failure, the next page has one delivery again. The gate first checks whether the
 * endpoint was paused, disabled or throttled again. Each of these changes stops the release. Each step releases at least one delivery, so
 * that a steady stream of new deliveries cannot block the parked deliveries.
 */
async function releasePage(tx: Transaction, endpoint: GatedEndpoint, now: number): Promise<Release> {
  const underway = await countUnderWay(tx, endpoint.id, now);
  const page = nextPage(endpoint, underway);
  await release(tx, endpoint.id, usual, Math.max(1, page - underway), now);
  const more = (await countWaiting(tx, endpoint.id, usual)) > 0;
  await tx.manager.update(WebhookEndpoint, { id: endpoint.id }, { releasePage: more ? page : 0 });
  return more ? { done: false, doing: 'releasing', at: now + pageEveryMs } : { done: true, outcome: 'open' };
}

function nextPage({ consecutiveFailures, releasePage: last }: GatedEndpoint, underway: number): number {
  if (consecutiveFailures > 0 || last === 0) return 1;
  return underway > last / 2 ? last : Math.min(gateRules.largestPage, last * 2);
}

/** Counts due deliveries that are not parked: released deliveries and new deliveries. Stops at the size of the largest page. */
function countUnderWay(tx: Transaction, endpointId: Id, now: number): Promise<number> {
  return count(
    tx,
    sql`SELECT FROM webhook_deliveries
        WHERE endpoint_id = ${endpointId} AND status = 'pending' AND parked_at IS NULL AND next_attempt_at <= ${new Date(now)}
        LIMIT ${gateRules.largestPage}`,
  );
}

async function count(tx: Transaction, rows: Sql): Promise<number> {
  const counted = await tx.one<{ count: number }>(sql`SELECT count(*)::int AS count FROM (${rows}) counted`);
  return counted?.count ?? 0;
}

/** The gate releases these two kinds of parked deliveries in different ways. Each condition has its own index. */
const usual = sql`requested IS DISTINCT FROM 'recovery'`;
const recovery = sql`requested = 'recovery'`;

async function countParked(tx: Transaction, endpointId: Id): Promise<number> {
  return (await countWaiting(tx, endpointId, usual)) + (await countWaiting(tx, endpointId, recovery));
}

/** @returns the number of waiting deliveries, up to `maxCounted` */
function countWaiting(tx: Transaction, endpointId: Id, condition: Sql): Promise<number> {
  return count(
    tx,
    sql`SELECT FROM webhook_deliveries WHERE endpoint_id = ${endpointId} AND parked_at IS NOT NULL AND ${condition} LIMIT ${maxCounted}`,
  );
}

/**
 * Releases up to `limit` parked deliveries and wakes their workflows. They become due now, so that the sweeper does not count them as
 * overdue. Locked rows wait for the next step.
 */
async function release(
  tx: Transaction,
  endpointId: Id,
  condition: Sql,
  limit: number,
  now: number,
): Promise<DeliveryToWake[]> {
  if (limit <= 0) return [];
  const released = await tx.rows<DeliveryToWake>(
    sql`UPDATE webhook_deliveries delivery SET parked_at = NULL, next_attempt_at = greatest(delivery.next_attempt_at, ${new Date(now)})
       FROM (SELECT id FROM webhook_deliveries
              WHERE endpoint_id = ${endpointId} AND parked_at IS NOT NULL AND ${condition}
              ORDER BY next_attempt_at, id LIMIT ${limit} FOR NO KEY UPDATE SKIP LOCKED) next
      WHERE delivery.id = next.id
  RETURNING ${columnsToWake('delivery')}`,
  );
  // A single released delivery is not woken with the priority bulk, because all other parked deliveries wait for the result of this
  // delivery.
  await (limit > 1
    ? wakeManyDeliveries(tx, released, new Date(now))
    : wake(tx, 'webhookDelivery', released, new Date(now)));
  return released;
}
