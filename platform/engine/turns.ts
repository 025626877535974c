/**
 * Claims rows of facts and wakes for relays: in rotation over the clubs (ENG-9), the most urgent first (ENG-15), from the position where
 * the last claim ended. Also postpones failed rows.
 */
import type { DataSource } from 'typeorm';
import { bulk, priorities, type Priority } from '../../entities/facts/values.ts';
import type { Queries } from '../infra/postgres/database.ts';
import type { Placeholders, Statement } from '../infra/postgres/prepared.ts';
import { sql, type Sql } from '../infra/postgres/sql.ts';
import { highestId, idAfter, idOfTime, noClub, type Id } from '../core/ids.ts';
import { anotherIsCurrent } from './releases.ts';

/** The time for which a relay may work on a claimed row. Afterwards another relay may claim the row. */
const leaseSeconds = 30;
/** The pause of a row after its first failure. Each further failure doubles the pause, up to the longest pause. */
const backoff = { seconds: 5, longestSeconds: 600 } as const;

/** The free capacity of a relay. */
export interface Room {
  /** The maximum number of rows that the claim returns. */
  limit: number;
  /** The maximum number of bulk rows that the claim returns. */
  bulk: number;
  /** The maximum number of rows of one club. The rows that this relay is already handling count for this limit. */
  perClub: number;
  /** The limit of bulk rows of one club, including the bulk rows that this relay is handling. */
  bulkPerClub: number;
  /** For each club, the rows that this relay is handling. */
  inHand: ReadonlyMap<Id, InHand>;
  /** The position in the rotation; a claim advances it. */
  turn: Turn;
  /** The position at which a claim begins to read. Each claim advances the position. If absent, claims begin with the first row. */
  front?: Front;
  /** The claiming build; absent in a checkout. While another build is current, this build gets no rows (ENG-19). */
  buildId?: string | undefined;
}

/** For each priority, the club that was served last. */
export type Turn = Map<Priority, Id>;

/**
 * The position at which the next claim of a relay begins to read. Deleted rows stay in the index while any transaction may still see them.
 * After a minute, a claim that read all deleted rows would take 50 ms. So a claim begins shortly before the oldest free row that the last
 * claim saw. But rows before that position can become free, for example the rows of a dead relay or of a slow transaction. A relay finds
 * such rows when it next reads all rows.
 */
export interface Front {
  /** All rows that were due before this time are gone. Undefined if the relay does not know such a time. */
  since: Date | undefined;
  /** The time when the relay last read all rows (`performance.now()`), and the duration of this reading in milliseconds. */
  lookedAt: number;
  tookMs: number;
}

export function unknownFront(): Front {
  return { since: undefined, lookedAt: -Infinity, tookMs: 0 };
}

/** The interval at which a relay reads all rows, unless this reading is slow. */
const looksEveryMs = 1_000;
/**
 * The interval is at least the duration of one reading of all rows, multiplied by this number. So a relay spends at most a tenth of its
 * time on such readings.
 */
const restForEachMs = 10;
/** The maximum interval. A slow reading may only have waited for a connection or a lock. */
const longestRestMs = 5_000;
/**
 * A row gets its due time when a transaction writes it, and becomes visible when the transaction commits. This constant is the assumed time
 * between these two moments.
 */
const slowTransactionMs = 250;

/**
 * @returns the milliseconds until all rows are read again, if the last such reading took `tookMs`. Until then, claims do not see a row
 * before the position at which they begin
 */
export const untilNextLook = (tookMs: number): number =>
  Math.min(longestRestMs, Math.max(looksEveryMs, restForEachMs * tookMs));

/** @returns the time from which rows are read; undefined for all rows */
function beginOf({ since, lookedAt, tookMs }: Front): Date | undefined {
  return performance.now() - lookedAt < untilNextLook(tookMs) ? since : undefined;
}

/**
 * Records the position at which the next claim begins to read.
 * @param since the due time from which this claim read rows; undefined if the claim read all rows
 * @param oldest the due time of the oldest free row, if known
 */
function moveOn(front: Front, since: Date | undefined, oldest: Date | null, tookMs: number): void {
  if (since === undefined) Object.assign(front, { since, lookedAt: performance.now(), tookMs } satisfies Front);
  // If a claim was slow, the transactions that write rows are probably slow, too.
  if (oldest) front.since = new Date(oldest.getTime() - Math.max(slowTransactionMs, restForEachMs * tookMs));
}

/** A time before the first club was created. */
const firstClubs = Date.UTC(2025, 0, 1);

/** @returns a random position, so that relays that start together or restart often do not all begin with the oldest clubs */
export function turnFromAnywhere(): Turn {
  const somewhen = () => idOfTime(firstClubs + Math.floor(Math.random() * (Date.now() - firstClubs)));
  return new Map(priorities.map((priority) => [priority, somewhen()]));
}

/** The number of rows of a club that a relay is handling. */
export interface InHand {
  all: number;
  /** The number of the rows in `all` that are bulk rows. */
  bulk: number;
}

/** The maximum number of tries of one claim, if other relays or a long transaction have locked every candidate. */
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
      // Other transactions may hold all candidates for long, so each further try reads more of them.
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

/** The values of a claim. */
export interface ClaimValues extends Pick<Room, 'limit' | 'bulk' | 'perClub' | 'bulkPerClub'> {
  leaseSeconds: number;
  clubsInHand: readonly Id[];
  /** The number of rows of each of these clubs that the relay is handling. */
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

/** One row of the result of a claim. It is a claimed row, or, if nothing was claimed, the only row of the result. */
export type Claimed<Row> = (ClaimedRow<Row> | NoRow<Row>) & {
  /** Whether the claim found any candidates. */
  contended: boolean;
  /**
   * The earliest `due_at` of all free rows, including the rows that were not claimed. If no row is free, this is the time of the claim.
   * Null if the claim did not read every stream.
   */
  oldest: Date | null;
};

type ClaimedRow<Row> = Row & {
  clubId: Id;
  priority: Priority;
  /** The position of the row in the rotation of this claim, among the rows of the same priority. */
  step: number;
  found: true;
};

type NoRow<Row> = { [Name in keyof Row]: null } & { clubId: null; priority: null; step: null; found: null };

/**
 * The reason of a failure. `its own` means that the row itself failed, so its pause becomes longer. `away` means that Temporal is
 * unavailable, so the row is not the cause.
 */
export type Failure = 'its own' | 'away';

/** @returns SQL that makes a failed row due again after a pause */
export function deferring(table: Sql, row: Sql, failure: Failure): Sql {
  const { seconds, longestSeconds } = backoff;
  // The exponent is limited, because a number beyond the float range would be an error.
  const counted = sql`attempt_count = least(attempt_count + 1, 32767),
           due_at = clock_timestamp() + make_interval(secs => least(${longestSeconds}, ${seconds} * 2 ^ least(attempt_count, 20)))`;
  const uncounted = sql`due_at = clock_timestamp() + make_interval(secs => ${seconds})`;
  return sql`UPDATE ${table} SET lease_until = NULL, ${failure === 'its own' ? counted : uncounted} WHERE ${row}`;
}

/**
 * The number of candidate rows for each requested row. Concurrent relays may lock some of the candidates first, so each relay needs
 * several. Each further try doubles this number.
 */
const candidatesARow = 4;
/**
 * The number of rows that the statement reads for each candidate. The streams of a priority share these rows with the streams of more
 * urgent priorities only. So many clubs with bulk work cannot hide an urgent row of another club.
 */
const readACandidate = 2;

/** The streams from the next position in the rotation to the end, and then the streams before it. The most urgent come first. */
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
 * Leases rows, the most urgent first (ENG-15), and in rotation over the clubs (ENG-9). A stream is the rows of one club with one priority.
 * A claim visits the streams in rotation, beginning after the stream that the last claim served. It takes the first row of each stream,
 * then the second row of each …
 *
 * If the handling of a row fails, the row gets a later due time. So the row comes after the other rows in the index, and the statement does
 * not read it before it is due.
 *
 * The statement skips through the index from stream to stream, and reads a few rows of each stream until it has enough. Therefore its cost
 * does not grow with the number of waiting clubs or with the length of a backlog. Rows that other relays or transactions have locked do not
 * count for the limit. The statement locks the candidates one by one, in order. It locks no more candidates than it may claim, unless other
 * transactions hold some of them. It does not read the rows of index entries before the position at which it begins.
 *
 * A build claims rows while it is the current build, or while no build is current. The reason is the eager start: the process that starts a
 * workflow also runs its first task, even if another version is current in Temporal (ENG-19).
 *
 * The statement does not wait for the disk. If a crash of Postgres loses a lease, the row may be claimed again. Processing it twice is
 * safe.
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
