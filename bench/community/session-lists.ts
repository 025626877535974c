/**
 * Reads of mentoring sessions, with 1,000 and 1,000,000 sessions. A mentor has at most one session a day, so a larger club has more
 * mentors. A seventh of the sessions is in the future.
 */
import pg from 'pg';
import { listSlots } from '../../domain/mentorships/classroom.ts';
import { listOwnSessions, listSessions, type SessionFilter } from '../../domain/mentorships/sessions.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import type { Database } from '../../platform/infra/postgres/database.ts';
import { onTwoSizes, type Read } from '../two-sizes.ts';

const first = { page: 1, page_size: 20 };
const publicId = 'knots-1';
const dayMs = 86_400_000;
const toCome = 0.15;

interface Club {
  clubId: Id;
  mentorId: Id;
  mentorshipId: Id;
  studentId: Id;
}

const idOf = (kind: number, n: string) => `('0190001${kind}-0000-7000-8000-' || lpad(to_hex(${n}), 12, '0'))::uuid`;
const nth = (kind: number, n: number): Id => `0190001${kind}-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;

const listed =
  (filterOf: (club: Club) => SessionFilter): Read<Club> =>
  (db, club) =>
    listSessions(db, club.clubId, { ...first, ...filterOf(club) }, new Date());
const own =
  (filter: Pick<SessionFilter, 'status'>): Read<Club> =>
  (db, { clubId, studentId }) =>
    listOwnSessions(db, { clubId, id: studentId }, { ...first, ...filter }, new Date());
const inDays = (days: number) => new Date(Date.now() + days * dayMs).toISOString();

const reads: Readonly<Record<string, Read<Club>>> = {
  sessions: listed(() => ({})),
  'sessions, booked': listed(() => ({ status: 'booked' })),
  'sessions, completed': listed(() => ({ status: 'completed' })),
  'sessions, canceled': listed(() => ({ status: 'canceled' })),
  'sessions, not attended': listed(() => ({ status: 'no_show' })),
  'sessions of a month': listed(() => ({ since: inDays(-20), until: inDays(10) })),
  'sessions of a month, booked': listed(() => ({ status: 'booked', since: inDays(-20), until: inDays(10) })),
  'sessions of a mentor': listed(({ mentorId }) => ({ mentor_id: mentorId })),
  'sessions of a mentor, booked': listed(({ mentorId }) => ({ mentor_id: mentorId, status: 'booked' })),
  'sessions of a mentorship': listed(({ mentorshipId }) => ({ mentorship_id: mentorshipId })),
  'sessions of a student': listed(({ studentId }) => ({ student_id: studentId })),
  'sessions, student': own({}),
  'sessions, student, booked': own({ status: 'booked' }),
  'slots of 31 days': (db, { clubId, studentId }) => listSlots(db, { clubId, id: studentId }, publicId, {}, new Date()),
};

/** Prints a line for each read, at both sizes. */
export async function measureSessionLists(): Promise<void> {
  await onTwoSizes('sessions', load, async ({ sizes: compare }) => {
    for (const [what, read] of Object.entries(reads)) await compare(what, read);
  });
}

const tables = ['students', 'administrators', 'mentorships', 'mentorship_sessions', 'list_tallies'] as const;

async function load(_db: Database, url: string, records: number): Promise<Club> {
  const clubId = newId();
  const students = Math.max(50, records / 20);
  const mentors = Math.max(10, records / 1_000);
  const each = records / mentors;
  // This number of mentors have their session at the same hour, each with a different student. The next mentors meet the same students an
  // hour later.
  const atATime = Math.max(1, students / each);
  const club = { clubId, mentorId: nth(1, 1), mentorshipId: nth(2, 1), studentId: nth(3, 1) };
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const run = (statement: string, ...values: unknown[]) => client.query(statement, values);
  try {
    // Foreign keys and tally triggers are off, and the load writes the tallies.
    await run(`SET session_replication_role = replica`);
    await run(`INSERT INTO clubs (id, name, slug, created_at) VALUES ($1, 'Club', 'club', now())`, clubId);
    await run(`INSERT INTO club_plans (club_id, plan, status) VALUES ($1, 'business', 'active')`, clubId);
    await run(
      `INSERT INTO administrators (id, name, email, verified_at, created_at)
       SELECT ${idOf(1, 'n')}, 'Mentor ' || n, n || '@example.com', now(), now() FROM generate_series(1::bigint, $1::bigint) AS n`,
      mentors,
    );
    await run(
      `INSERT INTO memberships (club_id, administrator_id, role, joined_at)
       SELECT $1, ${idOf(1, 'n')}, 'editor', now() FROM generate_series(1::bigint, $2::bigint) AS n`,
      clubId,
      mentors,
    );
    await run(
      `INSERT INTO students (id, club_id, name, email, verified_at, created_at)
       SELECT ${idOf(3, 'n')}, $1, 'Student ' || n, n || '@example.com', now(), now() FROM generate_series(1::bigint, $2::bigint) AS n`,
      clubId,
      students,
    );
    await run(
      `INSERT INTO mentorships (id, club_id, public_id, title, status, mentor_id, duration_minutes, time_zone, weekly_hours, exceptions,
                                horizon_days, max_upcoming, created_at, updated_at, published_at)
       SELECT ${idOf(2, 'n')}, $1, 'knots-' || n, 'Knots', 'published', ${idOf(1, 'n')}, 45, 'Europe/Berlin', $2, '[]', 180, 20, now(), now(), now()
         FROM generate_series(1::bigint, $3::bigint) AS n`,
      clubId,
      JSON.stringify([1, 2, 3, 4, 5].map((weekday) => ({ weekday, from: '09:00', to: '17:00' }))),
      mentors,
    );
    await run(
      `INSERT INTO mentorship_sessions (id, club_id, mentorship_id, mentor_id, student_id, status, starts_at, ends_at, busy_until,
                                        booked_at, canceled_at, created_at, updated_at)
       SELECT gen_random_uuid(), $1, ${idOf(2, '1 + mentor')}, ${idOf(1, '1 + mentor')}, ${idOf(3, '1 + nth % $5::bigint')}, status, starts_at,
              starts_at + interval '45 minutes', starts_at + interval '45 minutes', starts_at - interval '10 days',
              CASE WHEN status = 'canceled' THEN starts_at - interval '5 days' END, starts_at - interval '10 days', starts_at - interval '10 days'
         FROM (SELECT nth, nth / $3::bigint AS mentor,
                      CASE WHEN nth % 50 = 1 THEN 'canceled' WHEN nth % 500 = 5 THEN 'no_show' ELSE 'booked' END AS status,
                      date_trunc('day', now()) + (nth % $3::bigint - (1 - $6::float) * $3::bigint)::int * interval '1 day'
                        + floor(nth / $3::bigint / $4::float) * interval '1 hour' AS starts_at
                 FROM generate_series(0::bigint, $2::bigint - 1) AS nth) AS session`,
      clubId,
      records,
      each,
      atATime,
      students,
      toCome,
    );
    await run(
      `INSERT INTO list_tallies (club_id, list, subject_id, marked, records)
       SELECT club_id, 'sessions_' || status, lpad(to_hex(floor(extract(epoch FROM starts_at) / 86400)::bigint), 32, '0')::uuid, false, count(*)
         FROM mentorship_sessions GROUP BY 1, 2, 3`,
    );
    // VACUUM puts the tables into the state in which autovacuum keeps them in production.
    await run(`VACUUM ANALYZE ${tables.join(', ')}`);
    await run(`CHECKPOINT`);
  } finally {
    await client.end();
  }
  return club;
}
