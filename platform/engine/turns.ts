/** Claims facts and wakes for relays: in rotation over the clubs (ENG-9), the most urgent first (ENG-15). Also postpones failed rows. */
import type { DataSource } from 'typeorm';
import { bulk, priorities, type Priority } from '../../entities/facts/values.ts';
import type { Queries } from '../infra/postgres/database.ts';
import type { Placeholders, Statement } from '../infra/postgres/prepared.ts';
import { sql, type Sql } from '../infra/postgres/sql.ts';
import { highestId, idAfter, idOfTime, noClub, type Id } from '../core/ids.ts';
import { anotherIsCurrent } from './releases.ts';

/** After this time another relay may claim the row. */
const leaseSeconds = 30;
/** Each further failure of a row doubles its pause. */
const backoff = { seconds: 5, longestSeconds: 600 } as const;

export interface Room {
  limit: number;
  bulk: number;
  /** The limit for one club. Rows that this relay is already handling count against it. */
  perClub: number;
  /** The limit for the bulk rows of one club. */
  bulkPerClub: number;
  /** The rows of each club that this relay is handling. */
  inHand: ReadonlyMap<Id, InHand>;
  /** The position in the rotation. */
  turn: Turn;
  /** If absent, claims begin with the first row. */
  front?: Front;
  /** Absent in a checkout. While another build is current, this build gets no rows (ENG-19). */
  buildId?: string | undefined;
}

/** The club that was served last, for each priority. */
export type Turn = Map<Priority, Id>;

/**
 * The due time from which the next claim reads rows. Deleted rows stay in the index while any transaction may still see them, and reading
 * all of them would take 50 ms after a minute. So a claim begins shortly before the oldest free row of the last claim. Earlier rows can
 * become free again, for example rows of a dead relay. So a relay sometimes reads all rows.
 */
export interface Front {
  /** All rows before this time are gone; undefined if unknown. */
  since: Date | undefined;
  /** The last reading of all rows (`performance.now()`), and its duration in milliseconds. */
  lookedAt: number;
  tookMs: number;
}

export function unknownFront(): Front {
  return { since: undefined, lookedAt: -Infinity, tookMs: 0 };
}

/** The usual interval between readings of all rows. */
const looksEveryMs = 1_000;
/** The interval is at least this many times as long as a reading. So reading all rows uses at most a tenth of the time. */
const restForEachMs = 10;
/** The interval is never longer: a slow reading may only have waited for a connection or a lock. */
const longestRestMs = 5_000;
/** A row gets its due time when a transaction writes it, and is visible only after the commit. This is the assumed time between both. */
const slowTransactionMs = 250;

export const untilNextLook = (tookMs: number): number =>
  Math.min(longestRestMs, Math.max(looksEveryMs, restForEachMs * tookMs));

/** @returns undefined for all rows */
function beginOf({ since, lookedAt, tookMs }: Front): Date | undefined {
  return performance.now() - lookedAt < untilNextLook(tookMs) ? since : undefined;
}

/**
 * @param since undefined if the claim read all rows
 * @param oldest the due time of the oldest free row
 */
function moveOn(front: Front, since: Date | undefined, oldest: Date | null, tookMs: number): void {
  if (since === undefined) Object.assign(front, { since, lookedAt: performance.now(), tookMs } satisfies Front);
  // If a claim was slow, the transactions that write rows are probably slow, too.
  if (oldest) front.since = new Date(oldest.getTime() - Math.max(slowTransactionMs, restForEachMs * tookMs));
}

/** A time before the first club was created. */
const firstClubs = Date.UTC(2025, 0, 1);

/** @returns a random position, so that relays that restart often do not all begin with the oldest clubs */
export function turnFromAnywhere(): Turn {
  const somewhen = () => idOfTime(firstClubs + Math.floor(Math.random() * (Date.now() - firstClubs)));
  return new Map(priorities.map((priority) => [priority, somewhen()]));
}

export interface InHand {
  all: number;
  bulk: number;
}

/** A claim is repeated if other transactions have locked every candidate. */
const maxTries = 6;

export async function claimInTurns<Row>(
  lease: Statement<Claimed<Row>, ClaimValues>,
  db: DataSource | Queries,
  { limit, perClub, inHand, turn, buildId, front = unknownFront(), ...ofBulk }: Room,
): Promise<Row[]> {
  const since = beginOf(front);
  for (let tries = 1; ; tries++) {
    const startedAt = performance.now();
    const last = priorities.map((priority) => turn.get(priority) ?? noClub);
    const rows = await lease(db, {
      limit,
      leaseSeconds,
      perClub,
      clubsInHand: [...inHand.keys()],
      countsInHand: [...inHand.values()].map(({ all }) => all),
      bulkCountsInHand: [...inHand.values()].map((ofClub) => ofClub.bulk),
      bulk: ofBulk.bulk,
      bulkPerClub: ofBulk.bulkPerClub,
      firstClubs: last.map(idAfter),
      lastClubs: last,
      // Other transactions may hold all candidates for long, so each try reads more.
      candidates: limit * candidatesARow * 2 ** (tries - 1),
      buildId: buildId ?? null,
      since: since ?? '-infinity',
    });
    const [first] = rows;
    if (first) moveOn(front, since, first.oldest, performance.now() - startedAt);
    const claimed = rows.filter(isClaimed);
    if (claimed.length > 0) {
      for (const { priority, clubId } of claimed.toSorted((a, b) => a.step - b.step)) turn.set(priority, clubId);
      return claimed.map(
        ({ found: _found, contended: _contended, step: _step, oldest: _oldest, ...row }) => row as unknown as Row,
      );
    }
    if (!first?.contended || tries === maxTries) return [];
  }
}

function isClaimed<Row>(row: Claimed<Row>): row is Claimed<Row> & ClaimedRow<Row> {
  return row.found === true;
}

export interface ClaimValues extends Pick<Room, 'limit' | 'bulk' | 'perClub' | 'bulkPerClub'> {
  leaseSeconds: number;
  clubsInHand: readonly Id[];
  countsInHand: readonly number[];
  bulkCountsInHand: readonly number[];
  /** The club at which the claim begins, for each priority. */
  firstClubs: readonly Id[];
  /** The club at which the claim ends, for each priority. */
  lastClubs: readonly Id[];
  /** The most candidates. */
  candidates: number;
  buildId: string | null;
  since: Date | '-infinity';
}

/** A claimed row, or the only row if nothing was claimed. */
export type Claimed<Row> = (ClaimedRow<Row> | NoRow<Row>) & {
  /** Whether the claim found candidates. */
  contended: boolean;
  /** The earliest `due_at` of all free rows; the time of the claim if no row is free. Null if the claim did not read every stream. */
  oldest: Date | null;
};

type ClaimedRow<Row> = Row & {
  clubId: Id;
  priority: Priority;
  /** The position among the rows of this priority. */
  step: number;
  found: true;
};

type NoRow<Row> = { [Name in keyof Row]: null } & { clubId: null; priority: null; step: null; found: null };

/** `its own`: the row itself failed, so its pause grows. `away`: Temporal is unavailable. */
export type Failure = 'its own' | 'away';

export function deferring(table: Sql, row: Sql, failure: Failure): Sql {
  const { seconds, longestSeconds } = backoff;
  // The exponent is limited, because a number beyond the float range would be an error.
  const counted = sql`attempt_count = least(attempt_count + 1, 32767),
           due_at = clock_timestamp() + make_interval(secs => least(${longestSeconds}, ${seconds} * 2 ^ least(attempt_count, 20)))`;
  const uncounted = sql`due_at = clock_timestamp() + make_interval(secs => ${seconds})`;
  return sql`UPDATE ${table} SET lease_until = NULL, ${failure === 'its own' ? counted : uncounted} WHERE ${row}`;
}

/** Other relays may lock some candidates first. Each further try doubles this number. */
const candidatesARow = 4;
/** The streams of a priority share these rows only with more urgent streams. So bulk work of many clubs cannot hide an urgent row. */
const readACandidate = 2;

/** From the next position to the end, and then from the beginning. The most urgent come first. */
const lapsOf = ({ firstClubs: first, lastClubs: last }: Placeholders<ClaimValues>) =>
  priorities.flatMap((priority) => {
    const from = `(${first}::uuid[])[${priority + 1}]`;
    const before = `(${last}::uuid[])[${priority + 1}]`;
    return [
      `(${priority}::smallint, ${from}, '${highestId}'::uuid)`,
      `(${priority}::smallint, '${noClub}'::uuid, ${before})`,
    ];
  });

/**
 * Leases rows, the most urgent first (ENG-15), in rotation over the clubs (ENG-9). A stream is the rows of one club with one priority. A
 * claim begins after the stream that was served last. It takes the first row of each stream, then the second row of each …
 *
 * A failed row gets a later due time, so the statement does not read it before it is due.
 *
 * The statement goes through the index from stream to stream, and reads a few rows of each. So its cost does not grow with the number of
 * waiting clubs or the length of a backlog. It skips rows that other transactions have locked, and locks only as many rows as it claims.
 *
 * A build claims only while it is current, or while no build is current. The reason: if a start is eager, the process that starts a
 * workflow also runs
 * its first task, even if another version is current in Temporal (ENG-19).
 *
 * The statement does not wait for the disk. If a crash loses a lease, the row is claimed again, which is safe.
 */
export function inTurns(
  table: 'facts' | 'wakes',
  key: string,
  order: string,
  columns: string,
): (value: Placeholders<ClaimValues>) => string {
  return (value) => claiming(value, table, key, order, columns);
}

function claiming(
  value: Placeholders<ClaimValues>,
  table: 'facts' | 'wakes',
  key: string,
  order: string,
  columns: string,
): string {
  const ofFront = `${table}.due_at >= ${value.since}`;
  const nextClub = (after: string) => `
    SELECT club_id FROM ${table} WHERE priority = lap.priority AND club_id ${after} AND club_id <= lap.last_id AND ${ofFront}
     ORDER BY club_id, ${order} LIMIT 1`;
  const free = `${ofFront} AND ${table}.due_at <= statement_timestamp() AND (${table}.lease_until IS NULL OR ${table}.lease_until < clock_timestamp())`;
  const firstOf = (priority: string, clubId: string) =>
    `SELECT due_at FROM ${table} WHERE priority = ${priority} AND club_id = ${clubId} AND ${free} ORDER BY ${order} LIMIT 1`;
  return `
    WITH quickly AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)),
    in_hand AS (SELECT * FROM unnest(${value.clubsInHand}::uuid[], ${value.countsInHand}::int[], ${value.bulkCountsInHand}::int[]) AS held (club_id, count, bulk)),
    streams AS MATERIALIZED (
      SELECT lap.priority, club.club_id, first.due_at, row_number() OVER () AS place,
             least(${value.perClub} - coalesce(in_hand.count, 0), CASE WHEN lap.priority = ${bulk} THEN ${value.bulkPerClub} - coalesce(in_hand.bulk, 0) END) AS places
        FROM (VALUES ${lapsOf(value).join(', ')}) AS lap (priority, first_id, last_id)
       CROSS JOIN LATERAL (
        WITH RECURSIVE clubs AS (
          (${nextClub('>= lap.first_id')})
          UNION ALL
          SELECT next.club_id FROM clubs CROSS JOIN LATERAL (${nextClub('> clubs.club_id')}) next)
        SELECT club_id FROM clubs) club
        LEFT JOIN in_hand USING (club_id)
       CROSS JOIN LATERAL (${firstOf('lap.priority', 'club.club_id')}) first
       WHERE NOT ${anotherIsCurrent(`${value.buildId}::text`)}
         AND coalesce(in_hand.count, 0) < ${value.perClub} AND (lap.priority < ${bulk} OR (${value.bulk} > 0 AND coalesce(in_hand.bulk, 0) < ${value.bulkPerClub}))
       LIMIT ${value.candidates}),
    passed_over AS (
      SELECT first.due_at FROM in_hand CROSS JOIN unnest('{${priorities.join(',')}}'::int[]) AS priority
       CROSS JOIN LATERAL (${firstOf('priority', 'in_hand.club_id')}) first
       WHERE in_hand.count >= ${value.perClub} OR in_hand.bulk >= ${value.bulkPerClub}),
    candidates AS (
      SELECT streams.club_id, waiting.key, streams.priority, waiting.turn, streams.place
        FROM (SELECT *, count(*) OVER (ORDER BY priority) AS as_urgent FROM streams) streams CROSS JOIN LATERAL (
         SELECT first.key, row_number() OVER (ORDER BY ${order}) AS turn
           FROM (SELECT ${key} AS key, ${order} FROM ${table}
                  WHERE priority = streams.priority AND club_id = streams.club_id AND ${free} ORDER BY ${order}
                  LIMIT greatest(1, ${value.candidates} * ${readACandidate} / streams.as_urgent)) first) waiting
       -- A row beyond the limit of its club comes last. It is claimed only if other transactions hold the rows before it.
       ORDER BY turn > places, priority, turn, place LIMIT ${value.candidates}),
    locked AS (
      SELECT candidates.* FROM candidates CROSS JOIN LATERAL (
        SELECT FROM ${table} WHERE club_id = candidates.club_id AND ${key} = candidates.key AND ${free} FOR UPDATE SKIP LOCKED) row
       LIMIT ${value.limit}),
    mine AS (
      SELECT club_id, key, step FROM (
        SELECT club_id, key, priority,
               row_number() OVER (PARTITION BY club_id ORDER BY priority, turn, place) + coalesce(in_hand.count, 0) AS place_of_club,
               row_number() OVER (PARTITION BY priority ORDER BY turn, place) AS step,
               row_number() OVER (PARTITION BY priority, club_id ORDER BY turn, place) + coalesce(in_hand.bulk, 0) AS place_in_bulk_of_club
          FROM locked LEFT JOIN in_hand USING (club_id)) placed
       WHERE place_of_club <= ${value.perClub} AND (priority < ${bulk} OR (step <= ${value.bulk} AND place_in_bulk_of_club <= ${value.bulkPerClub}))),
    taken AS (
      UPDATE ${table} SET lease_until = clock_timestamp() + make_interval(secs => ${value.leaseSeconds})
        FROM mine WHERE ${table}.club_id = mine.club_id AND ${table}.${key} = mine.key
   RETURNING true AS found, mine.step::int, ${columns})
    SELECT taken.*, waiting.contended, waiting.oldest
      FROM (
        SELECT EXISTS (SELECT FROM candidates) AS contended,
               CASE WHEN ${value.bulk} > 0 AND (SELECT count(*) FROM streams) < ${value.candidates}
                    THEN least((SELECT min(due_at) FROM streams), (SELECT min(due_at) FROM passed_over), statement_timestamp()) END AS oldest
          FROM quickly) waiting
      LEFT JOIN taken ON true`;
}
