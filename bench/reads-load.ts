/** Fills one club with many students; each has one enrollment and one certificate. */
import pg from 'pg';
import { withoutLimits } from '../entities/data-source.ts';
import type { Database } from '../platform/infra/postgres/database.ts';
import { newId, type Id } from '../platform/core/ids.ts';
import { rollUpListTallies } from '../platform/infra/postgres/lists/counts.ts';

export interface Club {
  clubId: Id;
  courseIds: readonly Id[];
  deliveryIds: readonly Id[];
}

const tables = ['students', 'enrollments', 'certificates'] as const;
const courses = 10;
/** The trigger's transition table for one statement then fits into memory. */
const chunk = 100_000;

const studentId = (n: string) => `('01900001-0000-7000-8000-' || lpad(to_hex(${n}), 12, '0'))::uuid`;
/** The order of these ids is the order of creation, like in the product. */
const idOf = (kind: number, n: string) => studentId(n).replace('01900001', `0190000${kind}`);
export const nthStudent = (n: number): Id => `01900001-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;

/** About 3,000 full names, so of a million students some hundreds share each name. One student has a unique name. */
const name = `CASE WHEN n = total / 2 THEN 'Zacharias Quetzalcoatl' ELSE
  (ARRAY['Maria', 'Ada', 'João', 'Ana', 'Pedro', 'Lucas', 'Grace', 'Alan', 'Edsger', 'Barbara', 'Linus', 'Margaret', 'Ken', 'Radia'])[1 + mixed % 14] || ' ' ||
  (ARRAY['Silva', 'Lovelace', 'Santos', 'Hopper', 'Turing', 'Dijkstra', 'Liskov', 'Hamilton', 'Perlman', 'Okonkwo'])[1 + mixed / 14 % 10] ||
  (ARRAY['son', 'sen', 'berg', 'feld', 'mann', 'stein', 'ova', 'ski', 'ez', 'ström', 'dal', 'vik', 'gaard', 'lund', 'holm', 'quist', 'ard', 'otto', 'elli', 'ini'])[1 + mixed / 140 % 20] END`;

/** @returns a club with courses and deliveries, without students */
export async function seedClub({ source }: Database): Promise<Club> {
  const clubId = newId();
  await source.query(`INSERT INTO clubs (id, name, slug, created_at) VALUES ($1, 'Club', 'club', now())`, [clubId]);
  const ids = Array.from({ length: courses }, () => ({ course: newId(), delivery: newId() }));
  for (const [place, { course, delivery }] of ids.entries()) {
    await source.query(
      `INSERT INTO courses (id, club_id, public_id, title, status, created_at, updated_at) VALUES ($1, $2, $3, 'Knots', 'published', now(), now())`,
      [course, clubId, `knots-${place}`],
    );
    await source.query(
      `INSERT INTO access_deliveries (id, club_id, name, kind, course_id, created_at, updated_at) VALUES ($1, $2, 'Knots', 'course', $3, now(), now())`,
      [delivery, clubId, course],
    );
  }
  return { clubId, courseIds: ids.map(({ course }) => course), deliveryIds: ids.map(({ delivery }) => delivery) };
}

/**
 * One of 20 students is unverified, one of 20 enrollments is revoked, and one of 50 certificates is revoked. Indexes are built after the
 * inserts, as when a backup is restored. Otherwise the inserts take several times as long.
 */
export async function loadClub(db: Database, databaseUrl: string, club: Club, records: number): Promise<void> {
  // The connections of the product have time limits for statements and for idle transactions.
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(withoutLimits);
    await client.query(`SET maintenance_work_mem = '512MB'`);
    const indexes = await dropIndexes(client);
    for (const table of tables) {
      await client.query(`ALTER TABLE ${table} DISABLE TRIGGER ALL`); // disables foreign keys
      await client.query(`ALTER TABLE ${table} ENABLE TRIGGER ${table}_tallied_in`);
    }
    for (let first = 1; first <= records; first += chunk)
      await loadChunk(client, club, records, first, Math.min(first + chunk - 1, records));
    for (const table of tables) await client.query(`ALTER TABLE ${table} ENABLE TRIGGER ALL`);
    for (const index of indexes) await client.query(index);
    while ((await rollUpListTallies(db, chunk)) > 0);
    // VACUUM puts the tables into the state in which autovacuum keeps them in production.
    await client.query(`VACUUM ANALYZE ${[...tables, 'list_tallies', 'list_tally_changes'].join(', ')}`);
    await client.query(`CHECKPOINT`); // writes of the load that are still pending must not slow down the later measurements
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
  for (const { name: index } of rows) await client.query(`DROP INDEX ${index}`);
  return rows.map(({ definition }) => definition);
}

async function loadChunk(
  client: pg.Client,
  { clubId, courseIds, deliveryIds }: Club,
  total: number,
  from: number,
  to: number,
): Promise<void> {
  // Mixes the bits, so that names, marks and times do not depend on each other.
  const rows = `
    SELECT n, ${total}::bigint AS total, (hashint8(n)::bigint + 2147483648) AS mixed, $1::uuid AS club_id,
           '2026-01-01'::timestamptz + make_interval(secs => n::float8 * 10) AS at
      FROM generate_series(${from}::bigint, ${to}::bigint) AS n`;
  await client.query(
    `INSERT INTO students (id, club_id, name, email, verified_at, created_at)
     SELECT ${studentId('n')}, club_id, ${name}, 'student' || n || '@example.com', CASE WHEN mixed % 20 > 0 THEN at END, at FROM (${rows}) AS one`,
    [clubId],
  );
  await client.query(
    `INSERT INTO enrollments (id, club_id, student_id, delivery_id, source, starts_at, revoked_at, revoked_reason, created_at, updated_at)
     SELECT ${idOf(2, 'n')}, club_id, ${studentId('n')}, ($2::uuid[])[1 + mixed / 7 % ${courses}], 'grant', at,
            CASE WHEN mixed % 20 = 0 THEN at END, CASE WHEN mixed % 20 = 0 THEN 'revocation' END, at, at FROM (${rows}) AS one`,
    [clubId, deliveryIds],
  );
  await client.query(
    `INSERT INTO certificates (id, club_id, student_id, course_id, code, student_name, student_email, course_title, club_name,
                               lesson_count, verify_url, issued_at, revoked_at, revoked_reason)
     SELECT ${idOf(3, 'n')}, club_id, ${studentId('n')}, ($2::uuid[])[1 + mixed / 7 % ${courses}],
            upper(translate(lpad(to_hex((n * 2654435761) % 4294967296), 16, '8'), '01', 'xy')), ${name}, 'student' || n || '@example.com',
            'Knots', 'Club', 5, '', at, CASE WHEN mixed % 50 = 0 THEN at END, CASE WHEN mixed % 50 = 0 THEN 'error' END FROM (${rows}) AS one`,
    [clubId, courseIds],
  );
}
