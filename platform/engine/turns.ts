/**
 * How relays claim: rows of facts and of wakes, in turns over the clubs (ENG-9), the most urgent first (ENG-15), from where the last
 * claim left off; and how rows that failed are put off.
 */
import type { DataSource } from 'typeorm';
import { bulk, priorities, type Priority } from '../../entities/facts/values.ts';
import type { Queries } from '../infra/postgres/database.ts';
import type { Statement } from '../infra/postgres/prepared.ts';
import { sql, type Sql } from '../infra/postgres/sql.ts';
import { highestId, idAfter, idOfTime, noClub, type Id } from '../core/ids.ts';
import { anotherIsCurrent } from './releases.ts';

/** How long a relay may work on a claimed row. After this another relay may claim the row. */
const leaseSeconds = 30;
/** The wait after a failure: it doubles with each further one, up to the longest. */
const backoff = { seconds: 5, longestSeconds: 600 } as const;

/** What a relay has places for. */
export interface Room {
  /** Rows at most. */
  limit: number;
  /** Of these, bulk at most. */
  bulk: number;
  /** Rows of one club at most, together with those that this relay has in hand. */
  perClub: number;
  /** Of these, bulk at most. */
  bulkPerClub: number;
  /** By club: what this relay has in hand. */
  inHand: ReadonlyMap<Id, InHand>;
  /** Whose turn it is; a claim moves it on. */
  turn: Turn;
  /** Where a claim begins; it moves it on. Absent: with the first row. */
  front?: Front;
  /** The build that claims; absent in a checkout. While another one is current, there are no rows for it (ENG-19). */
  buildId?: string | undefined;
}

/** By priority: the club whose turn was last. */
export type Turn = Map<Priority, Id>;

/**
 * Where claims of a relay begin. Rows that are gone stay in the index for as long as a transaction somewhere may still see them, and each
 * claim would read all of them: 50 ms after a minute. So a claim begins shortly before the oldest free row of the last one. What
 * becomes free before that all the same, such as a row whose relay died, or whose transaction was slow, is found by the next look at
 * all rows.
 */
export interface Front {
  /** Rows that were due before are gone, as far as is known; undefined where some may be left. */
  since: Date | undefined;
  /** When all rows were looked at last (`performance.now()`), and how long that took (ms). */
  lookedAt: number;
  tookMs: number;
}

export function unknownFront(): Front {
  return { since: undefined, lookedAt: -Infinity, tookMs: 0 };
}

/** How often all rows are looked at, unless that is slow. */
const looksEveryMs = 1_000;
/** A look takes a tenth of the time at most … */
const restForEachMs = 10;
/** … unless it is slow because it waited: for a connection, or behind a lock. */
const longestRestMs = 5_000;
/** Rows are written with a time, and seen when their transaction has ended. */
const slowTransactionMs = 250;

/** @returns milliseconds from one look at many rows to the next, where it took so long: until then what it may find waits */
export const untilNextLook = (tookMs: number): number =>
  Math.min(longestRestMs, Math.max(looksEveryMs, restForEachMs * tookMs));

/** @returns from when on rows are to be looked at; undefined for all */
function beginOf({ since, lookedAt, tookMs }: Front): Date | undefined {
  return performance.now() - lookedAt < untilNextLook(tookMs) ? since : undefined;
}

/** Notes where the next claim begins. @param since where this one did @param oldest of the rows that were free, if that is known */
function moveOn(front: Front, since: Date | undefined, oldest: Date | null, tookMs: number): void {
  if (since === undefined) Object.assign(front, { since, lookedAt: performance.now(), tookMs } satisfies Front);
  // While claims are slow, so are transactions.
  if (oldest) front.since = new Date(oldest.getTime() - Math.max(slowTransactionMs, restForEachMs * tookMs));
}

/** Clubs of before have ids of before. */
const firstClubs = Date.UTC(2025, 0, 1);

/** @returns a turn that begins anywhere: relays that start together, or again and again, do not all begin with the oldest clubs */
export function turnFromAnywhere(): Turn {
  const somewhen = () => idOfTime(firstClubs + Math.floor(Math.random() * (Date.now() - firstClubs)));
  return new Map(priorities.map((priority) => [priority, somewhen()]));
}

/** How many rows of a club a relay has in hand. */
export interface InHand {
  all: number;
  /** Of these, bulk. */
  bulk: number;
}

/** Tries of a claim while other relays or a long transaction have every candidate. */
const maxTries = 6;

export async function claimInTurns<Row>(
  lease: Statement<Claimed<Row>>,
  db: DataSource | Queries,
  { limit, perClub, inHand, turn, buildId, front = unknownFront(), ...ofBulk }: Room,
): Promise<Row[]> {
  const since = beginOf(front);
  for (let tries = 1; ; tries++) {
    const begun = performance.now();
    const last = priorities.map((priority) => turn.get(priority) ?? noClub);
    const rows = await lease(db, [
      limit,
      leaseSeconds,
      perClub,
      [...inHand.keys()],
      [...inHand.values()].map(({ all }) => all),
      [...inHand.values()].map((ofClub) => ofClub.bulk),
      ofBulk.bulk,
      ofBulk.bulkPerClub,
      last.map(idAfter),
      last,
      // Others may hold all of them for long: each further try looks beyond them.
      limit * candidatesARow * 2 ** (tries - 1),
      buildId ?? null,
      since ?? '-infinity',
    ]);
    const [first] = rows;
    if (first) moveOn(front, since, first.oldest, performance.now() - begun);
    if (first?.found) {
      for (const { priority, clubId } of rows.toSorted((a, b) => a.step - b.step)) turn.set(priority, clubId);
      return rows.map(
        ({ found: _found, contended: _contended, step: _step, oldest: _oldest, ...row }) => row as unknown as Row,
      );
    }
    if (!first?.contended || tries === maxTries) return [];
  }
}

/** A claimed row, or the only row of an answer without any. */
export type Claimed<Row> = Row & {
  clubId: Id;
  priority: Priority;
  /** The how many-th it was of its priority as the claim went round. */
  step: number;
  /** Whether it is a claimed row. */
  found: boolean;
  /** Whether there were candidates. */
  contended: boolean;
  /** The earliest `due_at` of the free rows, taken or not; the time of the claim if none is free; null where it did not see all streams. */
  oldest: Date | null;
};

/** Why a row failed. A fault of `its own` lengthens its pause; while Temporal is `away`, no row is at fault. */
export type Failure = 'its own' | 'away';

/** @returns SQL: makes a failed row due again after a pause */
export function deferring(table: Sql, row: Sql, failure: Failure): Sql {
  const { seconds, longestSeconds } = backoff;
  // The exponent is bounded: a number beyond any float would be an error.
  const counted = sql`attempt_count = least(attempt_count + 1, 32767),
           due_at = clock_timestamp() + make_interval(secs => least(${longestSeconds}, ${seconds} * 2 ^ least(attempt_count, 20)))`;
  const uncounted = sql`due_at = clock_timestamp() + make_interval(secs => ${seconds})`;
  return sql`UPDATE ${table} SET lease_until = NULL, ${failure === 'its own' ? counted : uncounted} WHERE ${row}`;
}

/** Candidates for each wanted row: several relays that claim at the same moment still get their rows. A further try has twice as many. */
const candidatesARow = 4;
/**
 * Rows to read for each candidate. All streams of one priority and of the more urgent ones share that many, so that many clubs with
 * bulk work leave no urgent row of a club unread.
 */
const readACandidate = 2;

/** The streams from the one whose turn it is to the last, and then those before it; the most urgent first. */
const laps = priorities.flatMap((priority) => {
  const from = `($9::uuid[])[${priority + 1}]`;
  const before = `($10::uuid[])[${priority + 1}]`;
  return [
    `(${priority}::smallint, ${from}, '${highestId}'::uuid)`,
    `(${priority}::smallint, '${noClub}'::uuid, ${before})`,
  ];
});

/**
 * Leases rows, the most urgent first (ENG-15), and in turns over the clubs (ENG-9). A stream is what a club has of one priority. A
 * claim goes round the streams from the first that the last one did not serve, takes the first row of each, then the second of each …
 *
 * A row that failed is due later, so it lies behind the others in the index and is not read until then.
 *
 * The statement skips through the index from stream to stream and stops at enough, and reads a few rows of each: neither many clubs
 * that wait nor a long backlog cost more. It skips rows that other relays or transactions have locked before the limit counts, so
 * they delay no others. It locks in the order of the candidates, one by one, and no more than it may take, unless others hold some.
 * Entries of rows that were due before its front it passes over in the index alone.
 *
 * A build claims while it is the current one, or while none is: an eager start runs the first task of its workflow where it was
 * started, whichever version Temporal has as current (ENG-19).
 *
 * It does not wait for the disk: a lease that a crash of Postgres loses is a row that may be claimed, and carrying it twice is safe.
 */
export function inTurns(table: 'facts' | 'wakes', key: string, order: string, columns: string): string {
  const ofFront = `${table}.due_at >= $13`;
  const nextClub = (after: string) => `
    SELECT club_id FROM ${table} WHERE priority = lap.priority AND club_id ${after} AND club_id <= lap.last_id AND ${ofFront}
     ORDER BY club_id, ${order} LIMIT 1`;
  const free = `${ofFront} AND ${table}.due_at <= statement_timestamp() AND (${table}.lease_until IS NULL OR ${table}.lease_until < clock_timestamp())`;
  const firstOf = (priority: string, clubId: string) =>
    `SELECT due_at FROM ${table} WHERE priority = ${priority} AND club_id = ${clubId} AND ${free} ORDER BY ${order} LIMIT 1`;
  return `
    WITH quickly AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)),
    in_hand AS (SELECT * FROM unnest($4::uuid[], $5::int[], $6::int[]) AS held (club_id, count, bulk)),
    streams AS MATERIALIZED (
      SELECT lap.priority, club.club_id, first.due_at, row_number() OVER () AS place,
             least($3 - coalesce(in_hand.count, 0), CASE WHEN lap.priority = ${bulk} THEN $8 - coalesce(in_hand.bulk, 0) END) AS places
        FROM (VALUES ${laps.join(', ')}) AS lap (priority, first_id, last_id)
       CROSS JOIN LATERAL (
        WITH RECURSIVE clubs AS (
          (${nextClub('>= lap.first_id')})
          UNION ALL
          SELECT next.club_id FROM clubs CROSS JOIN LATERAL (${nextClub('> clubs.club_id')}) next)
        SELECT club_id FROM clubs) club
        LEFT JOIN in_hand USING (club_id)
       CROSS JOIN LATERAL (${firstOf('lap.priority', 'club.club_id')}) first
       WHERE NOT ${anotherIsCurrent('$12::text')}
         AND coalesce(in_hand.count, 0) < $3 AND (lap.priority < ${bulk} OR ($7 > 0 AND coalesce(in_hand.bulk, 0) < $8))
       LIMIT $11),
    passed_over AS (
      SELECT first.due_at FROM in_hand CROSS JOIN unnest('{${priorities.join(',')}}'::int[]) AS priority
       CROSS JOIN LATERAL (${firstOf('priority', 'in_hand.club_id')}) first
       WHERE in_hand.count >= $3 OR in_hand.bulk >= $8),
    candidates AS (
      SELECT streams.club_id, waiting.key, streams.priority, waiting.turn, streams.place
        FROM (SELECT *, count(*) OVER (ORDER BY priority) AS as_urgent FROM streams) streams CROSS JOIN LATERAL (
         SELECT first.key, row_number() OVER (ORDER BY ${order}) AS turn
           FROM (SELECT ${key} AS key, ${order} FROM ${table}
                  WHERE priority = streams.priority AND club_id = streams.club_id AND ${free} ORDER BY ${order}
                  LIMIT greatest(1, $11 * ${readACandidate} / streams.as_urgent)) first) waiting
       -- Beyond the places of its club only where others hold the rows before them.
       ORDER BY turn > places, priority, turn, place LIMIT $11),
    locked AS (
      SELECT candidates.* FROM candidates CROSS JOIN LATERAL (
        SELECT FROM ${table} WHERE club_id = candidates.club_id AND ${key} = candidates.key AND ${free} FOR UPDATE SKIP LOCKED) row
       LIMIT $1),
    mine AS (
      SELECT club_id, key, step FROM (
        SELECT club_id, key, priority,
               row_number() OVER (PARTITION BY club_id ORDER BY priority, turn, place) + coalesce(in_hand.count, 0) AS place_of_club,
               row_number() OVER (PARTITION BY priority ORDER BY turn, place) AS step,
               row_number() OVER (PARTITION BY priority, club_id ORDER BY turn, place) + coalesce(in_hand.bulk, 0) AS place_in_bulk_of_club
          FROM locked LEFT JOIN in_hand USING (club_id)) placed
       WHERE place_of_club <= $3 AND (priority < ${bulk} OR (step <= $7 AND place_in_bulk_of_club <= $8))),
    taken AS (
      UPDATE ${table} SET lease_until = clock_timestamp() + make_interval(secs => $2)
        FROM mine WHERE ${table}.club_id = mine.club_id AND ${table}.${key} = mine.key
   RETURNING true AS found, mine.step::int, ${columns})
    SELECT taken.*, waiting.contended, waiting.oldest
      FROM (
        SELECT EXISTS (SELECT FROM candidates) AS contended,
               CASE WHEN $7 > 0 AND (SELECT count(*) FROM streams) < $11
                    THEN least((SELECT min(due_at) FROM streams), (SELECT min(due_at) FROM passed_over), statement_timestamp()) END AS oldest
          FROM quickly) waiting
      LEFT JOIN taken ON true`;
}
