/** Fills the history of one endpoint. No delivery is older than the retention time. */
import pg from 'pg';
import { withoutLimits } from '../../entities/data-source.ts';
import type { Database } from '../../platform/infra/postgres/database.ts';
import type { Id } from '../../platform/core/ids.ts';
import { retentionRules } from '../../domain/webhooks/deliveries/retention.policy.ts';
import { webhookTables } from '../../domain/webhooks/retention.ts';
import { aheadMs, preparePartitions } from '../../platform/infra/postgres/partitions.ts';
import { rollUpTallies } from '../../domain/webhooks/deliveries/tallies.ts';

export interface History {
  clubId: Id;
  endpointId: Id;
  deliveries: number;
  /** The number of newest deliveries that are still pending, and due. */
  pending: number;
  /** The time of the newest delivery; the oldest is 90 days older. */
  end: Date;
}

const tables = ['webhook_events', 'webhook_deliveries', 'webhook_attempts', 'webhook_bodies'] as const;
/** One statement inserts so many rows. The trigger's transition table then fits into memory. */
const chunk = 250_000;
const historySeconds = retentionRules.historyMs / 1_000;

/** In the order of creation, like the product's ids. Each belongs to the partition of its time. */
const idOf = (kind: 1 | 2, n: string) =>
  `(lpad(to_hex((extract(epoch FROM created_at) * 1000)::bigint), 12, '0') || '700${kind}8000' || lpad(to_hex(${n}), 12, '0'))::uuid`;
const studentOf = (n: string) => `('01900003-0000-7000-8000-' || lpad(to_hex(${n} % 1000), 12, '0'))::uuid`;

/**
 * Replaces the earlier history. 2 of 100 deliveries failed, and 1 of 100 was canceled. One event type is common, another is rare. Only the
 * last 30 days have bodies and attempts. Indexes are built after the rows, because otherwise the inserts take three times as long.
 * @returns the ids of the pending deliveries
 */
export async function loadHistory(db: Database, databaseUrl: string, history: History): Promise<Id[]> {
  // The connections of the product have time limits for statements and for idle transactions.
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(withoutLimits);
    await client.query(`TRUNCATE ${tables.join(', ')}, webhook_tallies, webhook_tally_changes`);
    for (let at = history.end.getTime() - retentionRules.historyMs; at <= history.end.getTime(); at += aheadMs) {
      for (const table of Object.values(webhookTables)) await preparePartitions(db, table, at);
    }
    const indexes = await dropIndexes(client);
    for (let first = 1; first <= history.deliveries; first += chunk) {
      await loadChunk(client, history, first, Math.min(first + chunk - 1, history.deliveries));
    }
    for (const index of indexes) await client.query(index);
    while ((await rollUpTallies(db, chunk)) > 0);
    // VACUUM puts the tables into the state in which autovacuum keeps them in production.
    await client.query(`VACUUM ANALYZE ${[...tables, 'webhook_tallies', 'webhook_tally_changes'].join(', ')}`);
    await client.query(`CHECKPOINT`); // writes of the load that are still pending must not slow down the later measurements
    const { rows } = await client.query<{ id: Id }>(
      `SELECT id FROM webhook_deliveries WHERE endpoint_id = $1 AND status = 'pending'`,
      [history.endpointId],
    );
    return rows.map(({ id }) => id);
  } finally {
    await client.end();
  }
}

/** @returns the statements that create the indexes again */
async function dropIndexes(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string; definition: string }>(
    `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition FROM pg_index
      WHERE indrelid = ANY ($1::regclass[]) AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)`,
    [tables],
  );
  for (const { name } of rows) await client.query(`DROP INDEX ${name}`);
  // The indexes of partitions belong to the indexes of their table.
  return rows.map(({ definition }) => definition.replace(' ON ONLY ', ' ON '));
}

async function loadChunk(client: pg.Client, history: History, from: number, to: number): Promise<void> {
  const { clubId, endpointId, deliveries, pending, end } = history;
  // Spread evenly over the hours. `mixed`, a hash of the row's number, chooses type and status. So neither depends on the time or on the
  // other.
  const rows = `
    SELECT n, $1::uuid AS club_id, $2::uuid AS endpoint_id,
           date_trunc('milliseconds', $3::timestamptz - make_interval(secs => ${historySeconds}::float8 * (${deliveries} - n) / ${deliveries})) AS created_at,
           CASE WHEN n > ${deliveries - pending} THEN 'pending' WHEN mixed % 100 = 0 THEN 'canceled'
                WHEN mixed % 100 <= 2 THEN 'failed' ELSE 'succeeded' END AS status,
           CASE WHEN mixed / 100 % 1000 = 0 THEN 'student.removed' WHEN mixed / 100 % 1000 < 100 THEN 'student.created'
                WHEN mixed / 100 % 1000 < 300 THEN 'course.completed' WHEN mixed / 100 % 1000 < 400 THEN 'access.granted'
                ELSE 'lesson.completed' END AS event_type
      FROM (SELECT n, (hashint8(n)::bigint + 2147483648) AS mixed FROM generate_series(${from}::bigint, ${to}::bigint) AS n) numbered`;
  const parameters = [clubId, endpointId, end];
  const recent = `created_at > $3::timestamptz - make_interval(secs => ${retentionRules.bodyMs / 1_000})`;
  await client.query(
    `INSERT INTO webhook_events (id, club_id, type, student_id, occurred_at, created_at)
     SELECT ${idOf(1, 'n')}, club_id, event_type, ${studentOf('n')}, created_at, created_at FROM (${rows}) AS one`,
    parameters,
  );
  await client.query(
    `INSERT INTO webhook_bodies (event_id, created_at, body)
     SELECT ${idOf(1, 'n')}, created_at, '{"data":"' || repeat('x', 300) || '"}' FROM (${rows}) AS one WHERE ${recent}`,
    parameters,
  );
  await client.query(
    `INSERT INTO webhook_deliveries (id, club_id, endpoint_id, event_id, event_type, student_id, status,
                                     attempt_count, schedule_position, next_attempt_at, fence, created_at, completed_at)
     SELECT ${idOf(2, 'n')}, club_id, endpoint_id, ${idOf(1, 'n')}, event_type, ${studentOf('n')}, status,
            (status <> 'pending')::int, (status <> 'pending')::int, created_at, (status <> 'pending')::int, created_at,
            CASE WHEN status <> 'pending' THEN created_at END
       FROM (${rows}) AS one`,
    parameters,
  );
  await client.query(
    `INSERT INTO webhook_attempts (delivery_id, fence, number, trigger, started_at, outcome, duration_ms, response_status)
     SELECT ${idOf(2, 'n')}, 1, 1, 'schedule', created_at, CASE status WHEN 'succeeded' THEN 'succeeded' ELSE 'http_error' END, 20,
            CASE status WHEN 'succeeded' THEN 204 ELSE 500 END
       FROM (${rows}) AS one WHERE ${recent} AND status <> 'pending'`,
    parameters,
  );
}
