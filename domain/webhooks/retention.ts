/**
 * Removes webhook data after its retention time (DEL-8, HOOK-12). Whole partitions are dropped. Queries hide rows whose retention time is
 * over, so the API does not show these rows even before the next round removes them.
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
import { ending } from './deliveries/ending.ts';
import { forgetTallies, rollUpTallies } from './deliveries/tallies.ts';
import { sweepOrphans } from './orphans.ts';
import { clocksDifferMs, endOf, retentionRules } from './deliveries/retention.policy.ts';
import { columnsToWake, wakeManyDeliveries, type DeliveryToWake } from './deliveries/wakes.ts';

const byId = { column: 'id', of: 'ids' } as const;

/** The tables that grow with each delivery. */
export const webhookTables = {
  events: { name: 'webhook_events', key: byId, span: 'week' },
  deliveries: { name: 'webhook_deliveries', key: byId, span: 'week' },
  bodies: { name: 'webhook_bodies', key: { column: 'created_at', of: 'times' }, span: 'day' },
  attempts: { name: 'webhook_attempts', key: { column: 'started_at', of: 'times' }, span: 'day' },
} as const satisfies Record<string, PartitionedTable>;

/**
 * The maximum number of rows of each kind that one batch removes. A batch takes only some tens of milliseconds, so other transactions wait
 * only briefly for the batch's rows.
 */
const batch = 1_000;
/** Tallies need a larger batch, because each sent delivery causes two changes. */
const rollUpBatch = 5 * batch;

export type RetentionCounts = {
  /** Expired with their bodies. Normally 0, because the runs of deliveries end them on time. */
  expired: number;
  /** Dropped partitions. */
  dropped: number;
  made: number;
  /** Moved out of the default partitions. Normally 0. */
  moved: number;
  /** Removed deliveries of deleted endpoints. */
  deliveries: number;
  endpoints: number;
  /** The number of removed secrets that were replaced by a rotation and are not valid any more. */
  secrets: number;
  changes: number;
  /** Removed tallies of deliveries that are not shown any more. */
  tallies: number;
  /** Rows without their delivery, event or endpoint. Normally 0. */
  orphans: number;
};

/**
 * Runs one round: creates and drops partitions, and removes one batch of each kind, each in its own transaction. Repeated and concurrent
 * rounds do no harm.
 * @returns the counts, and whether more rows may be due now
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
      dropped > 0 || // another partition may be due, too
      endpoints > 0 ||
      Math.max(changes, tallies) >= rollUpBatch,
  };
}

/**
 * Drops the events and the deliveries of a week together. The function locks the tables in the same order as the fan-out, because the
 * opposite order could cause a deadlock. The partitions of a week are not dropped if one of its events was fanned out within the retention
 * time. An event that was fanned out recently can have an old id, after an outage or if a clock was wrong.
 */
async function dropHistory(db: Database, now: Date): Promise<number> {
  const { events, deliveries } = webhookTables;
  const until = endOf.history(now).getTime() - retentionRules.historySpareMs;
  const old = (await partitionsOf(db, events)).filter(({ to }) => to <= until);
  for (const { name, to } of old) {
    const young = await db.one(sql`SELECT 1 FROM ${raw(name)} WHERE created_at > ${endOf.history(now)} LIMIT 1`);
    if (young) continue;
    const deliveryPartitions = (await partitionsOf(db, deliveries)).filter((one) => one.to === to);
    const names = [name, ...deliveryPartitions.map((one) => one.name)];
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
 * Drops the oldest expired partition.
 * @param until Unix milliseconds
 * @returns the number of dropped partitions
 */
async function dropOld(db: Database, table: PartitionedTable, until: number): Promise<number> {
  const [oldest] = await partitionsOf(db, table);
  if (!oldest || oldest.to > until) return 0;
  return (await dropPartitions(db, [oldest.name])) ? 1 : 0;
}

/**
 * Drops the bodies of a day. Before that, pending deliveries with these bodies are canceled as expired, and requested attempts are dropped.
 * Usually their runs have done this already.
 */
async function dropBodies(db: Database, now: Date): Promise<{ expired: number; dropped: number }> {
  const until = endOf.bodies(now).getTime() - retentionRules.bodySpareMs;
  const [oldest] = await partitionsOf(db, webhookTables.bodies);
  if (!oldest || oldest.to > until) return { expired: 0, dropped: 0 };
  const expired = await db.transaction((tx) => expireBefore(tx, new Date(oldest.to), now));
  if (expired >= batch) return { expired, dropped: 0 };
  return { expired, dropped: await dropOld(db, webhookTables.bodies, until) };
}

async function expireBefore(tx: Transaction, createdBefore: Date, now: Date): Promise<number> {
  // An id contains the time of the creation. After an outage, the time in the id can be much earlier than the creation of the row. If
  // clocks differ, the time in the id can be a little later. So partitions with later ids need not be searched.
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
 * Removes one deleted endpoint at a time: first its deliveries and attempts in batches, then the endpoint. It stays while its gate cancels
 * a long queue, because only the gate wakes the workflows of canceled deliveries.
 */
async function removeDeletedEndpoint(tx: Transaction): Promise<{ deliveries: number; endpoints: number }> {
  const endpoint = await tx.one<{ id: Id }>(
    sql`SELECT id FROM webhook_endpoints WHERE deleted_at IS NOT NULL AND gate_looks_at IS NULL
      ORDER BY deleted_at LIMIT 1 FOR UPDATE SKIP LOCKED`,
  );
  if (!endpoint) return { deliveries: 0, endpoints: 0 };
  const oldest = await tx.rows<Pick<WebhookDelivery, 'id' | 'createdAt'>>(
    sql`SELECT ${columns(WebhookDelivery, ['id', 'createdAt'])}
       FROM webhook_deliveries WHERE endpoint_id = ${endpoint.id} ORDER BY created_at, id LIMIT ${batch}`,
  );
  if (oldest.length > 0) await removeDeliveries(tx, oldest);
  if (oldest.length === batch) return { deliveries: oldest.length, endpoints: 0 };
  await tx.manager.delete(WebhookEndpoint, { id: endpoint.id });
  return { deliveries: oldest.length, endpoints: 1 };
}

/** Removes deliveries of a deleted endpoint with their attempts. Their events stay in the club's log for their own time. */
async function removeDeliveries(
  tx: Transaction,
  deliveries: readonly Pick<WebhookDelivery, 'id' | 'createdAt'>[],
): Promise<void> {
  const deliveryIds = deliveries.map(({ id }) => id);
  const oldest = Math.min(...deliveries.map(({ createdAt }) => createdAt.getTime()));
  await lockDeliveries(tx, deliveryIds);
  await tx.run(
    sql`DELETE FROM webhook_attempts WHERE delivery_id = ANY (${deliveryIds}) AND started_at >= ${new Date(oldest - clocksDifferMs)}`,
  );
  await tx.run(sql`DELETE FROM webhook_deliveries WHERE id = ANY (${deliveryIds})`);
}

async function forgetSecrets(tx: Transaction, now: Date): Promise<number> {
  return tx.run(
    sql`UPDATE webhook_endpoints SET previous_secret = NULL WHERE id IN (
       SELECT id FROM webhook_endpoints
        WHERE previous_secret IS NOT NULL AND previous_secret_expires_at <= ${now}
        ORDER BY previous_secret_expires_at LIMIT ${batch} FOR NO KEY UPDATE SKIP LOCKED)`,
  );
}
