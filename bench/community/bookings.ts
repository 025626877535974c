/**
 * `npm run bench -- community bookings` books free slots through the API (MENT-6). It compares them with bare inserts, each in its own
 * transaction, and with a bare route that makes this insert. There are no conflicts.
 */
import autocannon from 'autocannon';
import pg from 'pg';
import type { DataSource } from 'typeorm';
import { readConfig } from '../../config.ts';
import { createDataSource } from '../../entities/data-source.ts';
import { migrate } from '../../commands/migrate.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { sha256 } from '../../platform/infra/keys/vault.ts';
import { insertAlone, type SessionRow } from './bare-sessions.ts';
import { addClub } from '../clubs.ts';
import { onFreshStack, progress, reportBeside, type Round } from '../support.ts';

const rounds = 5;
const secondsARound = 4;
/** This number keeps a process busy, but no booking waits long. */
const connections = 16;
/** Each side of the comparison has this number of mentors. */
const mentors = 100;
/** A student may book only 30 times an hour. Not a multiple of the number of mentors, so each student meets every mentor. */
const students = 2_001;
const minutes = 15;
const minuteMs = 60_000;
const dayMs = 86_400_000;

/** Sixteen bookings run in parallel, each with a different mentor and student. */
interface Booking {
  mentor: number;
  student: number;
  startsAt: Date;
}

export async function measureBookings(): Promise<void> {
  await onFreshStack(['postgres'], async ({ env, launch }) => {
    const config = readConfig(env).database;
    const source = await createDataSource(config, 'club-bench').initialize();
    await migrate(source);
    const { id: clubId } = await addClub(source);
    const [ofApi, ofBare] = [await addMentorships(source, clubId, 'api'), await addMentorships(source, clubId, 'bare')];
    const { port } = await launch('api/server.ts', 'API_PORT');
    const pool = new pg.Pool({ connectionString: config.url.reveal(), max: connections });

    const { port: bareRoute } = await launch('bench/ceiling/booking-route.ts', 'CEILING_PORT');

    const [throughApi, alone] = [bookingsInOrder(), bookingsInOrder()];
    const nextRow = () => rowOf(ofBare, alone.next().value);
    const booked = () =>
      postedPerSecond(port, () => {
        const { mentor, student, startsAt } = throughApi.next().value;
        const path = `/v1/clubs/${clubId}/classroom/mentorships/hour-${mentor}-api/bookings`;
        return { path, token: pick(ofApi.tokens, student), body: { starts_at: startsAt.toISOString() } };
      });
    const inserted = () => insertedPerSecond(pool, nextRow);
    const routed = () => postedPerSecond(bareRoute, () => ({ path: '/', body: nextRow() }));
    progress('warming up');
    for (const warmUp of [booked, inserted, routed]) await warmUp();
    await source.query('ANALYZE'); // in production, autovacuum analyzes tables that are in use
    const besideInserts: Round[] = [];
    const besideRoute: Round[] = [];
    for (let round = 1; round <= rounds; round++) {
      const ours = await booked();
      besideInserts.push({ ours, bare: await inserted() });
      besideRoute.push({ ours, bare: await routed() });
      progress(`round ${round}: ${JSON.stringify([besideInserts.at(-1), besideRoute.at(-1)])}`);
    }
    reportBeside('bookings/s', besideInserts);
    reportBeside('bookings/s, beside a bare route that inserts the same row', besideRoute);
    await pool.end();
    await source.destroy();
  });
}

/** Begins tomorrow: one slot of each mentor, then the next slot of each. */
function* bookingsInOrder(): Generator<Booking, never> {
  const first = Math.ceil((Date.now() + dayMs) / dayMs) * dayMs;
  for (let nth = 0; ; nth++)
    yield {
      mentor: nth % mentors,
      student: nth % students,
      startsAt: new Date(first + Math.floor(nth / mentors) * minutes * minuteMs),
    };
}

/** @throws Error if any answer is not 201: refusals are quick, so the rate would be too high */
async function postedPerSecond(
  port: number,
  next: () => { path: string; token?: string; body: object },
): Promise<number> {
  const result = await autocannon({
    url: `http://127.0.0.1:${port}`,
    connections,
    duration: secondsARound,
    requests: [
      {
        method: 'POST',
        setupRequest: (request) => {
          const { path, token = '', body } = next();
          const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
          return { ...request, path, headers, body: JSON.stringify(body) };
        },
      },
    ],
  });
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${result.non2xx} refusals, ${result.errors} errors`);
  return result.requests.total / result.duration;
}

async function insertedPerSecond(pool: pg.Pool, next: () => SessionRow): Promise<number> {
  const startedAt = performance.now();
  const until = startedAt + secondsARound * 1_000;
  let inserted = 0;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      for (; performance.now() < until; inserted++) await insertAlone(pool, next());
    }),
  );
  return (inserted * 1_000) / (performance.now() - startedAt);
}

function rowOf(side: Side, { mentor, student, startsAt }: Booking): SessionRow {
  return {
    clubId: side.clubId,
    mentorshipId: pick(side.mentorshipIds, mentor),
    mentorId: pick(side.mentorIds, mentor),
    studentId: pick(side.studentIds, student),
    startsAt: startsAt.toISOString(),
    endsAt: new Date(startsAt.getTime() + minutes * minuteMs).toISOString(),
  };
}

function pick<T>(all: readonly T[], index: number): T {
  const one = all[index];
  if (one === undefined) throw new Error(`There is no number ${index}`);
  return one;
}

interface Side {
  clubId: Id;
  mentorIds: readonly Id[];
  mentorshipIds: readonly Id[];
  studentIds: readonly Id[];
  tokens: readonly string[];
}

/** The mentors are free at all hours, with a mentorship `hour-<n>-<side>`. */
async function addMentorships(source: DataSource, clubId: Id, side: string): Promise<Side> {
  const ids = (length: number) => Array.from({ length }, () => newId());
  const [mentorIds, mentorshipIds, studentIds] = [ids(mentors), ids(mentors), ids(students)];
  const tokens = studentIds.map((id) => `cls_${id}`);
  await source.query(
    `WITH mentor AS (
       INSERT INTO administrators (id, name, email, verified_at, created_at)
       SELECT id, 'Mentor', id || '@example.com', now(), now() FROM unnest($1::uuid[]) AS id)
     INSERT INTO memberships (club_id, administrator_id, role, joined_at)
     SELECT $2, id, 'editor', now() FROM unnest($1::uuid[]) AS id`,
    [mentorIds, clubId],
  );
  await source.query(
    `INSERT INTO mentorships (id, club_id, public_id, title, status, mentor_id, duration_minutes, time_zone, weekly_hours, exceptions,
                              horizon_days, max_upcoming, created_at, updated_at, published_at)
     SELECT one.id, $3, 'hour-' || (one.n - 1) || '-' || $4, 'Knots', 'published', one.mentor, $5, 'Europe/Berlin', $6, '[]', 180, 20,
            now(), now(), now()
       FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS one (id, mentor, n)`,
    [
      mentorshipIds,
      mentorIds,
      clubId,
      side,
      minutes,
      JSON.stringify([1, 2, 3, 4, 5, 6, 7].map((weekday) => ({ weekday, from: '00:00', to: '24:00' }))),
    ],
  );
  await source.query(
    `INSERT INTO students (id, club_id, name, email, verified_at, created_at)
     SELECT id, $2, 'Student', id || '@example.com', now(), now() FROM unnest($1::uuid[]) AS id`,
    [studentIds, clubId],
  );
  await source.query(
    `INSERT INTO student_sessions (token_hash, student_id, created_at, expires_at)
     SELECT decode(one.hash, 'hex'), one.id, now(), now() + interval '1 day' FROM unnest($1::text[], $2::uuid[]) AS one (hash, id)`,
    [tokens.map((token) => sha256(token).toString('hex')), studentIds],
  );
  return { clubId, mentorIds, mentorshipIds, studentIds, tokens };
}
