/** Fills a club with students and with deliveries of the last weeks, each with its event, its body and one attempt. */
import pg from 'pg';
import { webhookTables } from '../../domain/webhooks/retention.ts';
import { withoutLimits } from '../../entities/data-source.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import type { Database } from '../../platform/infra/postgres/database.ts';
import { aheadMs, preparePartitions } from '../../platform/infra/postgres/partitions.ts';

export interface Size {
  students: number;
  deliveries: number;
}

export interface LoadedClub extends Size {
  id: Id;
  endpointId: Id;
}

/** Bodies and attempts are kept for 30 days. */
const historySeconds = 28 * 86_400;
const chunk = 100_000;
const tables = ['students', 'webhook_events', 'webhook_bodies', 'webhook_deliveries', 'webhook_attempts'] as const;

/** The number of rows that the erasure removes, without some single rows. */
export const rowsOfLoad = ({ students, deliveries }: Size): number => students + 4 * deliveries;

/**
 * Triggers and foreign keys are off meanwhile.
 * @param number of the club, below 256, so that the ids of two clubs differ
 */
export async function loadClub(db: Database, databaseUrl: string, number: number, size: Size): Promise<LoadedClub> {
  const club = { id: newId(), endpointId: newId(), ...size };
  const end = Date.now();
  await db.source.query(`INSERT INTO clubs (id, name, slug, created_at) VALUES ($1, 'Large', $2, now())`, [
    club.id,
    `large-${number}`,
  ]);
  await db.source.query(
    `INSERT INTO webhook_endpoints (id, club_id, url, event_types, secret, created_at, updated_at)
     VALUES ($1, $2, 'https://hooks.example.com', '{lesson.completed}', '', now(), now())`,
    [club.endpointId, club.id],
  );
  for (let at = end - historySeconds * 1_000; at <= end + aheadMs; at += aheadMs)
    for (const table of Object.values(webhookTables)) await preparePartitions(db, table, at);
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(withoutLimits);
    await client.query('SET session_replication_role = replica');
    for (let first = 1; first <= size.students; first += chunk)
      await loadStudents(client, club, number, first, Math.min(first + chunk - 1, size.students));
    for (let first = 1; first <= size.deliveries; first += chunk)
      await loadDeliveries(client, club, { number, end }, first, Math.min(first + chunk - 1, size.deliveries));
    await client.query(`VACUUM ANALYZE ${tables.join(', ')}`);
    await client.query('CHECKPOINT'); // writes of the load that are still pending must not slow down the measurement
  } finally {
    await client.end();
  }
  return club;
}

const twoDigits = (number: number) => number.toString(16).padStart(2, '0');
const studentOf = (number: number, n: string) =>
  `('01900003-0000-70${twoDigits(number)}-8000-' || lpad(to_hex(${n}), 12, '0'))::uuid`;
/** In the order of creation, like the product's ids. Each belongs to the partition of its time. */
const idOf = (kind: 1 | 2, number: number) =>
  `(lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7${kind}${twoDigits(number)}8000' || lpad(to_hex(n), 12, '0'))::uuid`;

async function loadStudents(
  client: pg.Client,
  { id }: LoadedClub,
  number: number,
  from: number,
  to: number,
): Promise<void> {
  await client.query(
    `INSERT INTO students (id, club_id, name, email, verified_at, created_at)
     SELECT ${studentOf(number, 'n')}, $1, 'Student ' || n, 'student' || n || '@example.com', now(), now() FROM generate_series(${from}::bigint, ${to}::bigint) n`,
    [id],
  );
}

async function loadDeliveries(
  client: pg.Client,
  { id, endpointId, students, deliveries }: LoadedClub,
  { number, end }: { number: number; end: number },
  from: number,
  to: number,
): Promise<void> {
  const rows = `(SELECT n, $1::uuid AS club_id, $2::uuid AS endpoint_id, ${studentOf(number, `1 + n % ${students}`)} AS student_id,
      date_trunc('milliseconds', to_timestamp(${end / 1_000}) - make_interval(secs => ${historySeconds}::float8 * (${deliveries} - n) / ${deliveries})) AS at
    FROM generate_series(${from}::bigint, ${to}::bigint) n) one`;
  // The parameters of the club stand in every statement, although some need only one of them.
  const insert = (table: string, columns: string, values: string) =>
    client.query(`INSERT INTO ${table} (${columns}) SELECT ${values} FROM ${rows}`, [id, endpointId]);
  await insert(
    'webhook_events',
    'id, club_id, type, student_id, occurred_at, created_at',
    `${idOf(1, number)}, club_id, 'lesson.completed', student_id, at, at`,
  );
  await insert(
    'webhook_bodies',
    'event_id, created_at, body',
    `${idOf(1, number)}, at, '{"data":"' || repeat('x', 300) || '"}'`,
  );
  await insert(
    'webhook_deliveries',
    `id, club_id, endpoint_id, event_id, event_type, student_id, status, attempt_count, schedule_position, next_attempt_at, fence,
     created_at, completed_at`,
    `${idOf(2, number)}, club_id, endpoint_id, ${idOf(1, number)}, 'lesson.completed', student_id, 'succeeded', 1, 1, at, 1, at, at`,
  );
  await insert(
    'webhook_attempts',
    'delivery_id, fence, number, trigger, started_at, outcome, duration_ms, response_status',
    `${idOf(2, number)}, 1, 1, 'schedule', at, 'succeeded', 20, 204`,
  );
}
