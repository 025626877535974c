/**
 * The removal of webhooks that have been kept long enough (DEL-8, HOOK-12): by partitions, dropped as tables. What a round
 * leaves is nobody's to see meanwhile: reads hide what is past its time.
 */
import { WebhookDelivery } from '../../entities/webhooks/webhook-delivery.ts';
import { WebhookEndpoint } from '../../entities/webhooks/webhook-endpoint.ts';
import type { Database, Transaction } from '../../platform/infra/postgres/database.ts';
import {
  dropPartitions,
  partitionsOf,
  preparePartitions,
  type PartitionedTable,
} from '../../platform/infra/postgres/partitions.ts';
import { columns, raw, sql } from '../../platform/infra/postgres/sql.ts';
import { leastIdOf, type Id } from '../../platform/core/ids.ts';
import { lockDeliveries } from './deliveries/deliveries.ts';
import { deliveryIdsOf } from './deliveries/delivery-id.ts';
import { ending } from './deliveries/ending.ts';
import { forgetTallies, rollUpTallies } from './deliveries/tallies.ts';
import { sweepOrphans } from './orphans.ts';
import { clocksDifferMs, endOf, retentionRules } from './deliveries/retention.policy.ts';
import { columnsToWake, wakeManyDeliveries, type DeliveryToWake } from './deliveries/wakes.ts';

const byId = { column: 'id', of: 'ids' } as const;

/** The tables of webhooks that grow with what is sent. */
export const webhookTables = {
  events: { name: 'webhook_events', key: byId, span: 'week' },
  deliveries: { name: 'webhook_deliveries', key: byId, span: 'week' },
  bodies: { name: 'webhook_bodies', key: { column: 'created_at', of: 'times' }, span: 'day' },
  attempts: { name: 'webhook_attempts', key: { column: 'started_at', of: 'times' }, span: 'day' },
} as const satisfies Record<string, PartitionedTable>;

/** Rows of a kind a batch: some tens of milliseconds each, so that nobody waits long for a row that one holds. */
const batch = 1_000;
/** Changes rolled up per batch: a delivery makes two when it is sent. */
const rollUpBatch = 5 * batch;

/** What a round did. */
export type RetentionCounts = {
  /** Deliveries that expired with their bodies: normally none, for their runs end them on time. */
  expired: number;
  /** Partitions dropped. */
  dropped: number;
  /** Partitions made. */
  made: number;
  /** Rows moved out of the default partitions: normally none. */
  moved: number;
  /** Deliveries of deleted endpoints. */
  deliveries: number;
  endpoints: number;
  /** Secrets whose time after a rotation is over. */
  secrets: number;
  /** Changes rolled up into the tallies of histories. */
  changes: number;
  /** Tallies of what nobody sees any more. */
  tallies: number;
  /** Rows whose delivery, event or endpoint does not exist, removed: none, unless something is wrong. */
  orphans: number;
};

/**
 * A round: makes and drops partitions, and removes one batch of each kind, each in a transaction of its own. Repetition and company
 * do no harm: who comes second finds nothing.
 * @returns what it did, and whether there may be more to do at once
 */
export async function retainWebhooks(db: Database, now: Date): Promise<{ rows: RetentionCounts; more: boolean }> {
  const { made, moved } = await makePartitions(db, now);
  const { expired, dropped: bodies } = await dropBodies(db, now);
  const attempts = await dropOld(db, webhookTables.attempts, endOf.attempts(now).getTime());
  const history = await dropHistory(db, now);
  const { deliveries, endpoints } = await db.transaction(removeDeletedEndpoint);
  const secrets = await db.transaction((tx) => forgetSecrets(tx, now));
  const changes = await rollUpTallies(db, rollUpBatch);
  const tallies = await forgetTallies(db, endOf.history(now), rollUpBatch);
  const orphans = await sweepOrphans(db, now);
  const dropped = bodies + attempts + history;
  return {
    rows: { expired, dropped, made, moved, deliveries, endpoints, secrets, changes, tallies, orphans },
    more:
      [expired, deliveries, secrets].some((count) => count >= batch) ||
      dropped > 0 || // there may be a next one
      endpoints > 0 ||
      Math.max(changes, tallies) >= rollUpBatch,
  };
}

/**
 * Weeks go with events and deliveries together, in the order in which a fan-out locks them: the other way round both would wait for each
 * other. One with an event that was fanned out within the time is left, however old its id: an outage, or a clock, was behind.
 */
async function dropHistory(db: Database, now: Date): Promise<number> {
  const { events, deliveries } = webhookTables;
  const until = endOf.history(now).getTime() - retentionRules.historySpareMs;
  const old = (await partitionsOf(db, events)).filter(({ to }) => to <= until);
  for (const { name, to } of old) {
    const young = await db.one(sql`SELECT 1 FROM ${raw(name)} WHERE created_at > ${endOf.history(now)} LIMIT 1`);
    if (young) continue;
    const ofDeliveries = (await partitionsOf(db, deliveries)).filter((one) => one.to === to);
    const names = [name, ...ofDeliveries.map((one) => one.name)];
    return (await dropPartitions(db, names)) ? names.length : 0;
  }
  return 0;
}

async function makePartitions(db: Database, now: Date): Promise<{ made: number; moved: number }> {
  const sum = { made: 0, moved: 0 };
  for (const table of Object.values(webhookTables)) {
    const { made, moved } = await preparePartitions(db, table, now.getTime());
    sum.made += made;
    sum.moved += moved;
  }
  return sum;
}

/**
 * Drops the oldest partition that is past its time.
 * @param until Unix milliseconds
 * @returns how many it dropped
 */
async function dropOld(db: Database, table: PartitionedTable, until: number): Promise<number> {
  const [oldest] = await partitionsOf(db, table);
  if (!oldest || oldest.to > until) return 0;
  return (await dropPartitions(db, [oldest.name])) ? 1 : 0;
}

/**
 * Bodies of a day go at once. What is still on its way without one is canceled first, as expired, and an attempt that was asked
 * for is not made: nothing that a run has not done on time, unless it was lost.
 */
async function dropBodies(db: Database, now: Date): Promise<{ expired: number; dropped: number }> {
  const until = endOf.bodies(now).getTime() - retentionRules.bodySpareMs;
  const [oldest] = await partitionsOf(db, webhookTables.bodies);
  if (!oldest || oldest.to > until) return { expired: 0, dropped: 0 };
  const expired = await db.transaction((tx) => expireBefore(tx, new Date(oldest.to), now));
  if (expired >= batch) return { expired, dropped: 0 };
  return { expired, dropped: await dropOld(db, webhookTables.bodies, until) };
}

/** Deliveries are locked in the order of their ids, as everywhere. */
async function expireBefore(tx: Transaction, createdBefore: Date, now: Date): Promise<number> {
  // Ids are made at the same time but for an outage and clocks that differ: later ones are in partitions that need no look.
  const old = sql`created_at < ${createdBefore} AND id < ${leastIdOf(createdBefore.getTime() + clocksDifferMs)}`;
  const found = await tx.rows<{ id: Id }>(
    sql`(SELECT id FROM webhook_deliveries WHERE ${old} AND status = 'pending' LIMIT ${batch})
         UNION ALL
        (SELECT id FROM webhook_deliveries
          WHERE ${old} AND status <> 'pending' AND (requested IS NOT NULL OR in_flight IS NOT NULL) LIMIT ${batch})`,
  );
  const ids = found.map(({ id }) => id);
  await lockDeliveries(tx, ids);
  const expired = await tx.rows<DeliveryToWake>(
    sql`UPDATE webhook_deliveries SET ${ending({ now, reason: 'expired' })}
      WHERE id = ANY (${ids}) AND (status = 'pending' OR requested IS NOT NULL OR in_flight IS NOT NULL)
  RETURNING ${columnsToWake()}`,
  );
  await wakeManyDeliveries(tx, expired, now);
  return expired.length;
}

/**
 * One endpoint at a time: its deliveries with their attempts in batches, and in the end itself. One whose gate is still
 * canceling a long queue waits: the workflows of what is canceled are woken, those of what is removed are not.
 */
async function removeDeletedEndpoint(tx: Transaction): Promise<{ deliveries: number; endpoints: number }> {
  const endpoint = await tx.one<{ id: Id }>(
    sql`SELECT id FROM webhook_endpoints WHERE deleted_at IS NOT NULL AND gate_looks_at IS NULL
      ORDER BY deleted_at LIMIT 1 FOR UPDATE SKIP LOCKED`,
  );
  if (!endpoint) return { deliveries: 0, endpoints: 0 };
  const oldest = await tx.rows<Pick<WebhookDelivery, 'id' | 'eventId' | 'createdAt'>>(
    sql`SELECT ${columns(WebhookDelivery, ['id', 'eventId', 'createdAt'])}
       FROM webhook_deliveries WHERE endpoint_id = ${endpoint.id} ORDER BY created_at, id LIMIT ${batch}`,
  );
  if (oldest.length > 0) await removeDeliveries(tx, oldest);
  if (oldest.length === batch) return { deliveries: oldest.length, endpoints: 0 };
  await tx.manager.delete(WebhookEndpoint, { id: endpoint.id });
  return { deliveries: oldest.length, endpoints: 1 };
}

/** Removes deliveries of a deleted endpoint with their attempts, and the events that none is left of. */
async function removeDeliveries(
  tx: Transaction,
  deliveries: readonly Pick<WebhookDelivery, 'id' | 'eventId' | 'createdAt'>[],
): Promise<void> {
  const deliveryIds = deliveries.map(({ id }) => id);
  const events = [...new Set(deliveries.map(({ eventId }) => eventId))].map((id) => ({ id, ...deliveryIdsOf(id) }));
  const oldest = Math.min(...deliveries.map(({ createdAt }) => createdAt.getTime()));
  await lockDeliveries(tx, deliveryIds);
  await tx.run(
    sql`DELETE FROM webhook_attempts WHERE delivery_id = ANY (${deliveryIds}) AND started_at >= ${new Date(oldest - clocksDifferMs)}`,
  );
  await tx.run(sql`DELETE FROM webhook_deliveries WHERE id = ANY (${deliveryIds})`);
  // One that somebody holds, whose fact may be told again, or that is older than ids which tell their deliveries, goes when its own time is over.
  await tx.run(
    sql`WITH undelivered AS (
       SELECT event.id, event.created_at
         FROM unnest(${events.map(({ id }) => id)}::uuid[], ${events.map(({ from }) => from)}::uuid[], ${events.map(({ to }) => to)}::uuid[])
                AS given (id, least, next) JOIN webhook_events event USING (id)
        WHERE event.tableoid IS DISTINCT FROM to_regclass('webhook_events_oldest')
          AND (SELECT true FROM facts WHERE facts.club_id = event.club_id AND facts.id = event.id) IS NULL
          AND (SELECT true FROM webhook_deliveries delivery
                WHERE delivery.id >= given.least AND delivery.id < given.next AND delivery.event_id = event.id LIMIT 1) IS NULL
          FOR UPDATE OF event SKIP LOCKED),
     bodies AS (
       DELETE FROM webhook_bodies kept USING undelivered
        WHERE kept.event_id = undelivered.id AND kept.created_at = undelivered.created_at)
     DELETE FROM webhook_events event USING undelivered WHERE event.id = undelivered.id`,
  );
}

async function forgetSecrets(tx: Transaction, now: Date): Promise<number> {
  return tx.run(
    sql`UPDATE webhook_endpoints SET previous_secret = NULL WHERE id IN (
       SELECT id FROM webhook_endpoints
        WHERE previous_secret IS NOT NULL AND previous_secret_expires_at <= ${now}
        ORDER BY previous_secret_expires_at LIMIT ${batch} FOR NO KEY UPDATE SKIP LOCKED)`,
  );
}
