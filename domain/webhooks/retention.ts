/** How long webhooks are kept, and their removal in small batches (DEL-8, HOOK-12). */
import { WebhookDelivery } from '../../entities/webhooks/webhook-delivery.ts';
import { WebhookEndpoint } from '../../entities/webhooks/webhook-endpoint.ts';
import type { Database, Transaction } from '../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../platform/infra/postgres/sql.ts';
import type { Id } from '../../platform/core/ids.ts';
import { ending } from './deliveries/ending.ts';
import { deliveryRules } from './deliveries/schedule.policy.ts';
import { rollUpTallies } from './deliveries/tallies.ts';
import { columnsToWake, wakeManyDeliveries, type DeliveryToWake } from './wakes.ts';

const dayMs = 86_400_000;

export const retentionRules = {
  /** A message's body, from its creation: a delivery expires when it goes. */
  bodyMs: deliveryRules.expiryMs,
  /** An attempt with the start of its response, from its beginning. */
  attemptMs: 30 * dayMs,
  /** A delivery, from its creation. */
  historyMs: 90 * dayMs,
} as const;

/** Rows of a kind a batch: some tens of milliseconds each, so that nobody waits long for a row that one holds. */
const batch = 1_000;
/** Changes rolled up per batch: a delivery makes two when it is sent, one when its time is over. */
const rollUpBatch = 5 * batch;

/** What a round did, in rows. */
export type RetentionCounts = {
  /** Events that lost their body. */
  bodies: number;
  attempts: number;
  /** Events removed with their deliveries. */
  events: number;
  /** Deliveries of deleted endpoints. */
  deliveries: number;
  endpoints: number;
  /** Secrets whose time after a rotation is over. */
  secrets: number;
  /** Changes rolled up into the tallies of histories. */
  changes: number;
};

/**
 * Removes one batch of each kind, each in a transaction of its own. Repetition and company do no harm: who comes second
 * finds nothing.
 * @returns what it did, and whether there may be more to do at once
 */
export async function retainWebhooks(db: Database, now: Date): Promise<{ rows: RetentionCounts; more: boolean }> {
  const before = (ms: number) => new Date(now.getTime() - ms);
  const bodies = await db.transaction((tx) => purgeBodies(tx, before(retentionRules.bodyMs), now));
  const attempts = await db.transaction((tx) => removeAttempts(tx, before(retentionRules.attemptMs)));
  const events = await db.transaction((tx) => removeHistory(tx, before(retentionRules.historyMs)));
  const { deliveries, endpoints } = await db.transaction(removeDeletedEndpoint);
  const secrets = await db.transaction((tx) => forgetSecrets(tx, now));
  const changes = await rollUpTallies(db, rollUpBatch);
  return {
    rows: { bodies, attempts, events, deliveries, endpoints, secrets, changes },
    more:
      [bodies, attempts, events, deliveries, secrets].some((count) => count >= batch) ||
      endpoints > 0 || // there may be a next one
      changes >= rollUpBatch,
  };
}

/**
 * Bodies go for all endpoints of the club at once. The deliveries stay in the history, with `payload_purged`: one that is
 * still pending is canceled as expired, and an attempt that was asked for is not made. Deliveries are locked in the order
 * of their ids and before their events, as everywhere.
 */
async function purgeBodies(tx: Transaction, createdBy: Date, now: Date): Promise<number> {
  const events = await tx.rows<{ id: Id }>(
    sql`SELECT id FROM webhook_events WHERE created_at <= ${createdBy} AND body IS NOT NULL ORDER BY created_at LIMIT ${batch}`,
  );
  if (events.length === 0) return 0;
  const ids = events.map(({ id }) => id);
  const awaited = await tx.rows<DeliveryToWake>(
    sql`WITH locked AS (SELECT * FROM webhook_deliveries WHERE event_id = ANY (${ids}) ORDER BY id FOR NO KEY UPDATE)
     SELECT ${columnsToWake('locked')} FROM locked WHERE status = 'pending' OR requested IS NOT NULL OR in_flight IS NOT NULL`,
  );
  await tx.run(
    sql`UPDATE webhook_deliveries
        SET payload_purged_at = coalesce(payload_purged_at, ${now}), ${ending({ now, reason: 'expired' })}
      WHERE event_id = ANY (${ids})`,
  );
  await tx.run(sql`UPDATE webhook_events SET body = NULL WHERE id = ANY (${ids})`);
  await wakeManyDeliveries(tx, awaited, now);
  return events.length;
}

async function removeAttempts(tx: Transaction, startedBy: Date): Promise<number> {
  return tx.run(
    sql`DELETE FROM webhook_attempts WHERE (delivery_id, fence) IN (
       SELECT delivery_id, fence FROM webhook_attempts
        WHERE started_at <= ${startedBy} ORDER BY started_at LIMIT ${batch} FOR UPDATE SKIP LOCKED)`,
  );
}

async function removeHistory(tx: Transaction, createdBy: Date): Promise<number> {
  const events = await tx.rows<{ id: Id }>(
    sql`SELECT id FROM webhook_events WHERE created_at <= ${createdBy} ORDER BY created_at LIMIT ${batch}`,
  );
  if (events.length === 0) return 0;
  const ids = events.map(({ id }) => id);
  await tx.run(sql`SELECT FROM webhook_deliveries WHERE event_id = ANY (${ids}) ORDER BY id FOR UPDATE`);
  await tx.run(sql`DELETE FROM webhook_deliveries WHERE event_id = ANY (${ids})`);
  await removeUndelivered(tx, ids);
  return events.length;
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
  const oldest = await tx.rows<Pick<WebhookDelivery, 'id' | 'eventId'>>(
    sql`SELECT ${columns(WebhookDelivery, ['id', 'eventId'])} FROM webhook_deliveries WHERE id IN (
       SELECT id FROM webhook_deliveries WHERE endpoint_id = ${endpoint.id} ORDER BY created_at, id LIMIT ${batch})
      ORDER BY id FOR UPDATE`,
  );
  if (oldest.length > 0) {
    await tx.run(sql`DELETE FROM webhook_deliveries WHERE id = ANY (${oldest.map(({ id }) => id)})`);
    await removeUndelivered(
      tx,
      oldest.map(({ eventId }) => eventId),
    );
  }
  if (oldest.length === batch) return { deliveries: oldest.length, endpoints: 0 };
  await tx.manager.delete(WebhookEndpoint, { id: endpoint.id });
  return { deliveries: oldest.length, endpoints: 1 };
}

/** Events that no delivery is left of. One that somebody holds goes when its own time is over. */
async function removeUndelivered(tx: Transaction, eventIds: readonly Id[]): Promise<void> {
  await tx.run(
    sql`DELETE FROM webhook_events WHERE id IN (
       SELECT id FROM webhook_events event
        WHERE id = ANY (${eventIds}) AND NOT EXISTS (SELECT FROM webhook_deliveries WHERE event_id = event.id)
          FOR UPDATE SKIP LOCKED)`,
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
