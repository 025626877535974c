/** The relay's side of facts and wakes: claiming them in turns over the clubs, and removing what was carried on. */
import type { DataSource } from 'typeorm';
import type { Id } from '../core/ids.ts';
import { Queries } from '../infra/postgres/database.ts';
import { bulk, type Priority } from '../../entities/facts/values.ts';
import { prepared, type Statement } from '../infra/postgres/prepared.ts';
import { sql, type Sql } from '../infra/postgres/sql.ts';
import type { FactToTell } from './facts.ts';
import type { Run } from './workflow-types.ts';

/** How long a relay may work on what it has claimed; one that died has lost it after this. */
const leaseSeconds = 30;
/** The wait after a failure: it doubles with each further one, up to the longest. */
const backoff = { seconds: 5, longestSeconds: 600 } as const;

export interface ClaimedWake extends Run {
  /** `noClub` for what belongs to none. */
  clubId: Id;
  workflowId: string;
  seq: string;
  /** It was raised before it was claimed. */
  raised: boolean;
  priority: Priority;
}

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
}

/** How many rows of a club a relay has in hand. */
export interface InHand {
  all: number;
  /** Of these, bulk. */
  bulk: number;
}

/** A fact that a relay has leased. */
export interface ClaimedFact extends FactToTell {
  priority: Priority;
}

/** @returns facts: the most urgent first, in turns over the clubs, of one club the oldest first (ENG-9, ENG-15) */
export async function claimFacts(db: DataSource | Queries, room: Room): Promise<ClaimedFact[]> {
  return claim(leaseFacts, db, room);
}

/** @returns wakes, in the same order */
export async function claimWakes(db: DataSource | Queries, room: Room): Promise<ClaimedWake[]> {
  return claim(leaseWakes, db, room);
}

/** Tries of a claim whose every candidate was taken meanwhile: by relays that are quicker, or by a long transaction. */
const maxTries = 3;

async function claim<Row>(
  lease: Statement<Claimed<Row>>,
  db: DataSource | Queries,
  { limit, perClub, inHand, ...ofBulk }: Room,
): Promise<Row[]> {
  for (let tries = 1; ; tries++) {
    const rows = await lease(db, [
      limit,
      leaseSeconds,
      perClub,
      [...inHand.keys()],
      [...inHand.values()].map(({ all }) => all),
      [...inHand.values()].map((ofClub) => ofClub.bulk),
      ofBulk.bulk,
      ofBulk.bulkPerClub,
    ]);
    const [first] = rows;
    if (first?.found) return rows.map(({ found: _found, contended: _contended, ...row }) => row as unknown as Row);
    if (!first?.contended || tries === maxTries) return [];
  }
}

/** A claimed row, or the only row of an answer without any. */
type Claimed<Row> = Row & {
  /** Whether it is a claimed row. */
  found: boolean;
  /** Whether there were candidates. */
  contended: boolean;
};

/** The workflows of this fact are started. */
export async function removeFact(source: DataSource, id: Id): Promise<void> {
  await deleteFact(source, [id]);
}

/** This wake is sent; one that was raised meanwhile stays, and is free to be claimed at once. */
export async function removeWake(source: DataSource, { workflowId, seq }: ClaimedWake): Promise<void> {
  const removed = await deleteWake(source, [workflowId, seq]);
  if (removed.length === 0) await freeWake(source, [workflowId]);
}

const deleteFact = prepared('delete_fact', `DELETE FROM facts WHERE id = $1`);
const deleteWake = prepared('delete_wake', `DELETE FROM wakes WHERE workflow_id = $1 AND seq = $2 RETURNING 1`);
const freeWake = prepared('free_wake', `UPDATE wakes SET lease_until = NULL, attempt_count = 0 WHERE workflow_id = $1`);

/** Why a row could not be carried on: `its own` fault counts against it, while the engine being `away` concerns all rows alike. */
export type Failure = 'its own' | 'away';

/**
 * A fact that could not be carried on is due again after 5 s, and after each further fault of its own twice as late, up to
 * 10 minutes. It then queues behind the facts that were due before.
 */
export async function deferFact(source: DataSource, id: Id, failure: Failure): Promise<void> {
  await new Queries(source.manager).run(deferring(sql`facts`, sql`id = ${id}`, failure));
}

/** The same for a wake; one that is raised meanwhile is due at once. */
export async function deferWake(source: DataSource, { workflowId }: ClaimedWake, failure: Failure): Promise<void> {
  await new Queries(source.manager).run(deferring(sql`wakes`, sql`workflow_id = ${workflowId}`, failure));
}

function deferring(table: Sql, row: Sql, failure: Failure): Sql {
  const { seconds, longestSeconds } = backoff;
  // The exponent is bounded: a number beyond any float would be an error.
  const counted = sql`attempt_count = least(attempt_count + 1, 32767),
           due_at = clock_timestamp() + make_interval(secs => least(${longestSeconds}, ${seconds} * 2 ^ least(attempt_count, 20)))`;
  const uncounted = sql`due_at = clock_timestamp() + make_interval(secs => ${seconds})`;
  return sql`UPDATE ${table} SET lease_until = NULL, ${failure === 'its own' ? counted : uncounted} WHERE ${row}`;
}

/** Candidates for each row that is wanted: so many relays may claim at the same moment and each still gets its rows. */
const candidatesARow = 4;
/** Rows that are read of each club and priority at least, and in all for each row that is wanted. */
const readOfAClub = 4;
const readARow = 2 * candidatesARow;

/**
 * Leases rows, the most urgent first (ENG-15), and in turns over the clubs (ENG-9). A row's rank is its turn among those of its club that are as urgent, plus the rows of the club that relays
 * have leased already; chance decides between equal ranks, or else the clubs with the lowest ids would always win.
 *
 * A row that failed is due later, so it lies behind the others in the index and is not read until then.
 *
 * The clubs with their priorities are found by skipping through the index, and of each a few rows are read: a club with a long backlog costs no
 * more than one with a short one. Rows that others hold are passed over before the limit counts: a relay beside us, or a long
 * transaction that raises a wake, must not hold up the rest.
 */
function inTurns(table: 'facts' | 'wakes', key: string, order: string, columns: string): string {
  const free = `${table}.due_at <= statement_timestamp() AND (${table}.lease_until IS NULL OR ${table}.lease_until < clock_timestamp())`;
  return `
    WITH RECURSIVE lines AS (
      (SELECT club_id, priority FROM ${table} ORDER BY club_id, priority LIMIT 1)
      UNION ALL
      SELECT next.club_id, next.priority FROM lines CROSS JOIN LATERAL (
        SELECT club_id, priority FROM ${table} WHERE (club_id, priority) > (lines.club_id, lines.priority)
         ORDER BY club_id, priority LIMIT 1) next),
    in_hand AS (SELECT * FROM unnest($4::uuid[], $5::int[], $6::int[]) AS held (club_id, count, bulk)),
    leased AS (
      SELECT club_id, count(*) FROM ${table} WHERE lease_until > statement_timestamp() GROUP BY club_id),
    candidates AS (
      SELECT waiting.key, lines.priority, waiting.turn + coalesce(leased.count, 0) AS rank, random() AS lot
        FROM lines LEFT JOIN leased USING (club_id) LEFT JOIN in_hand USING (club_id)
       CROSS JOIN LATERAL (
         SELECT first.key, row_number() OVER (ORDER BY ${order}) AS turn
           FROM (SELECT ${key} AS key, ${order} FROM ${table}
                  WHERE club_id = lines.club_id AND priority = lines.priority AND ${free} ORDER BY ${order}
                  LIMIT (SELECT greatest(${readOfAClub}, $1 * ${readARow} / count(*)) FROM lines)) first) waiting
       WHERE coalesce(in_hand.count, 0) < $3 AND (priority < ${bulk} OR ($7 > 0 AND coalesce(in_hand.bulk, 0) < $8))
       ORDER BY priority, rank, lot LIMIT $1 * ${candidatesARow}),
    locked AS (
      SELECT ${table}.${key} AS key, ${table}.club_id, candidates.priority, candidates.rank, candidates.lot
        FROM candidates JOIN ${table} ON ${table}.${key} = candidates.key
       WHERE ${free} ORDER BY candidates.priority, rank, lot LIMIT $1 FOR UPDATE OF ${table} SKIP LOCKED),
    mine AS (
      SELECT key FROM (
        SELECT key, priority,
               row_number() OVER (PARTITION BY club_id ORDER BY priority, rank, lot) + coalesce(in_hand.count, 0) AS place,
               row_number() OVER (PARTITION BY priority ORDER BY rank, lot) AS place_in_bulk,
               row_number() OVER (PARTITION BY priority, club_id ORDER BY rank, lot) + coalesce(in_hand.bulk, 0) AS place_in_bulk_of_club
          FROM locked LEFT JOIN in_hand USING (club_id)) placed
       WHERE place <= $3 AND (priority < ${bulk} OR (place_in_bulk <= $7 AND place_in_bulk_of_club <= $8))),
    taken AS (
      UPDATE ${table} SET lease_until = clock_timestamp() + make_interval(secs => $2)
        FROM mine WHERE ${table}.${key} = mine.key
   RETURNING true AS found, ${columns})
    SELECT taken.*, waiting.contended
      FROM (SELECT EXISTS (SELECT FROM candidates) AS contended) waiting LEFT JOIN taken ON true`;
}

const leaseFacts = prepared<Claimed<ClaimedFact>>(
  'lease_facts',
  inTurns(
    'facts',
    'id',
    'due_at, seq',
    `facts.id, facts.club_id AS "clubId", facts.type, facts.student_id AS "studentId",
     facts.subject_id AS "subjectId", facts.details, facts.occurred_at AS "occurredAt", facts.priority`,
  ),
);

const leaseWakes = prepared<Claimed<ClaimedWake>>(
  'lease_wakes',
  inTurns(
    'wakes',
    'workflow_id',
    'due_at',
    `wakes.workflow_id AS "workflowId", wakes.seq, wakes.raised, wakes.workflow_type AS "workflowType",
     wakes.subject_id AS "subjectId", wakes.club_id AS "clubId", wakes.attributes, wakes.priority`,
  ),
);
