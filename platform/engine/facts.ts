/**
 * Facts: the outbox of events. A fact is written in the transaction of its cause. Relays claim facts in turns over the clubs, and
 * delete each once its workflows are started (ENG-4, ENG-9). Wakes are claimed in the same way.
 */
import type { DataSource } from 'typeorm';
import { bulk, priorities, type FactDetails, type Priority } from '../../entities/facts/values.ts';
import { Queries, type Transaction } from '../infra/postgres/database.ts';
import { prepared, type Statement } from '../infra/postgres/prepared.ts';
import { sql, type Sql } from '../infra/postgres/sql.ts';
import { anotherIsCurrent } from './releases.ts';
import { highestId, idAfter, idOfTime, newId, noClub, type Id } from '../core/ids.ts';
import type { EventType } from '../core/event-types.ts';
import { traceparent } from '../infra/tracing.ts';

export interface NewFact {
  clubId: Id;
  type: EventType;
  /** The student that the fact is about. */
  studentId: Id;
  /** The record that it is about: the enrollment, purchase, subscription, lesson, course, certificate, tag or level. */
  subjectId?: Id;
  details?: FactDetails;
  occurredAt: Date;
  /** Normal if absent. */
  priority?: Priority;
}

/** Options of a fact: its urgency, and what its record cannot say. */
export type FactOptions = Pick<NewFact, 'details' | 'priority'>;

/** A recorded fact, as the relay hands it to its consumers. */
export interface FactToTell {
  id: Id;
  clubId: Id;
  type: EventType;
  studentId: Id;
  /** The record that it is about, besides the student. */
  subjectId: Id | null;
  details: FactDetails | null;
  occurredAt: Date;
  /** The span that it goes on from; null, or absent, where nothing is traced. */
  traceparent?: string | null;
}

/** Records that something of the catalogue happened. @returns the id of the event that it becomes */
export async function recordFact(tx: Transaction, fact: NewFact): Promise<Id> {
  const [id] = await recordFacts(tx, [fact]);
  if (id === undefined) throw new Error('A fact has an id');
  return id;
}

/** Records many at once; relays get them in this order. @returns their ids */
export async function recordFacts(tx: Transaction, facts: readonly NewFact[]): Promise<Id[]> {
  if (facts.length === 0) return [];
  const here = traceparent();
  const rows = facts.map((fact) => ({ ...fact, id: newId(), traceparent: here }));
  await tx.run(
    sql`INSERT INTO facts (id, club_id, type, student_id, subject_id, details, occurred_at, priority, traceparent)
     SELECT (one->>'id')::uuid, (one->>'clubId')::uuid, one->>'type', (one->>'studentId')::uuid, (one->>'subjectId')::uuid,
            one->'details', (one->>'occurredAt')::timestamptz, coalesce((one->>'priority')::smallint, 1), one->>'traceparent'
       FROM jsonb_array_elements(${JSON.stringify(rows)}::jsonb) WITH ORDINALITY AS given (one, place) ORDER BY place`,
  );
  tx.notifyRelay();
  return rows.map(({ id }) => id);
}

/** Several facts together wait so long for a lock, at most: whoever holds it for longer is waited for by each fact alone. */
export const togetherWaitsMs = 100;
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
  /** The build that claims; absent in a checkout. While another one is current, there are no rows for it (ENG-19). */
  buildId?: string | undefined;
}

/** By priority: the club whose turn was last. */
export type Turn = Map<Priority, Id>;

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

/** A fact that a relay has leased. */
export interface ClaimedFact extends FactToTell {
  priority: Priority;
}

/** @returns facts: the most urgent first, in turns over the clubs, of one club the oldest first (ENG-9, ENG-15) */
export async function claimFacts(db: DataSource | Queries, room: Room): Promise<ClaimedFact[]> {
  return claimInTurns(leaseFacts, db, room);
}

/** Tries of a claim while other relays or a long transaction have every candidate. */
const maxTries = 6;

export async function claimInTurns<Row>(
  lease: Statement<Claimed<Row>>,
  db: DataSource | Queries,
  { limit, perClub, inHand, turn, buildId, ...ofBulk }: Room,
): Promise<Row[]> {
  for (let tries = 1; ; tries++) {
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
    ]);
    const [first] = rows;
    if (first?.found) {
      for (const { priority, clubId } of rows.toSorted((a, b) => a.step - b.step)) turn.set(priority, clubId);
      return rows.map(({ found: _found, contended: _contended, step: _step, ...row }) => row as unknown as Row);
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
};

/** What a fact is known by: its key begins with its club, as all that a club has. */
export type FactKey = Pick<FactToTell, 'clubId' | 'id'>;

/** The workflows of these facts are started. */
export async function removeFacts(on: DataSource | Queries, facts: readonly FactKey[]): Promise<void> {
  await deleteFacts(on, [facts.map(({ clubId }) => clubId), facts.map(({ id }) => id)]);
}

const deleteFacts = prepared(
  'delete_facts',
  `DELETE FROM facts USING unnest($1::uuid[], $2::uuid[]) AS done (club_id, id)
    WHERE facts.club_id = done.club_id AND facts.id = done.id`,
);

/** Why a row failed. A fault of `its own` lengthens its pause; while Temporal is `away`, no row is at fault. */
export type Failure = 'its own' | 'away';

/**
 * Makes a failed fact due again after 5 s. The pause doubles with each further fault of its own, up to 10 minutes. The fact then
 * queues behind the facts that were due before.
 */
export async function deferFact(source: DataSource, { clubId, id }: FactKey, failure: Failure): Promise<void> {
  await new Queries(source.manager).run(deferring(sql`facts`, sql`club_id = ${clubId} AND id = ${id}`, failure));
}

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
/** Rows to read for each candidate, over all streams. */
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
 * they delay no others. It locks in the order of the candidates, one by one, and so no more than it takes.
 *
 * A build claims while it is the current one, or while none is: an eager start runs the first task of its workflow where it was
 * started, whichever version Temporal has as current (ENG-19).
 *
 * It does not wait for the disk: a lease that a crash of Postgres loses is a row that may be claimed, and carrying it twice is safe.
 */
export function inTurns(table: 'facts' | 'wakes', key: string, order: string, columns: string): string {
  const free = `${table}.due_at <= statement_timestamp() AND (${table}.lease_until IS NULL OR ${table}.lease_until < clock_timestamp())`;
  return `
    WITH quickly AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)),
    in_hand AS (SELECT * FROM unnest($4::uuid[], $5::int[], $6::int[]) AS held (club_id, count, bulk)),
    streams AS MATERIALIZED (
      SELECT lap.priority, club.club_id, row_number() OVER () AS place
        FROM (VALUES ${laps.join(', ')}) AS lap (priority, first_id, last_id)
       CROSS JOIN LATERAL (
        WITH RECURSIVE clubs AS (
          (SELECT club_id FROM ${table} WHERE priority = lap.priority AND club_id >= lap.first_id AND club_id <= lap.last_id
            ORDER BY club_id, ${order} LIMIT 1)
          UNION ALL
          SELECT next.club_id FROM clubs CROSS JOIN LATERAL (
            SELECT club_id FROM ${table} WHERE priority = lap.priority AND club_id > clubs.club_id AND club_id <= lap.last_id
             ORDER BY club_id, ${order} LIMIT 1) next)
        SELECT club_id FROM clubs) club
        LEFT JOIN in_hand USING (club_id)
       WHERE NOT ${anotherIsCurrent('$12::text')}
         AND coalesce(in_hand.count, 0) < $3 AND (lap.priority < ${bulk} OR ($7 > 0 AND coalesce(in_hand.bulk, 0) < $8))
         AND (SELECT true FROM ${table} WHERE priority = lap.priority AND club_id = club.club_id AND ${free} ORDER BY ${order} LIMIT 1)
       LIMIT $11),
    candidates AS (
      SELECT streams.club_id, waiting.key, streams.priority, waiting.turn, streams.place
        FROM streams CROSS JOIN LATERAL (
         SELECT first.key, row_number() OVER (ORDER BY ${order}) AS turn
           FROM (SELECT ${key} AS key, ${order} FROM ${table}
                  WHERE priority = streams.priority AND club_id = streams.club_id AND ${free} ORDER BY ${order}
                  LIMIT (SELECT greatest(1, $11 * ${readACandidate} / count(*)) FROM streams)) first) waiting
       ORDER BY priority, turn, place LIMIT $11),
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
    SELECT taken.*, waiting.contended
      FROM (SELECT EXISTS (SELECT FROM candidates) AS contended FROM quickly) waiting LEFT JOIN taken ON true`;
}

const leaseFacts = prepared<Claimed<ClaimedFact>>(
  'lease_facts',
  inTurns(
    'facts',
    'id',
    'due_at, seq',
    `facts.id, facts.club_id AS "clubId", facts.type, facts.student_id AS "studentId",
     facts.subject_id AS "subjectId", facts.details, facts.occurred_at AS "occurredAt", facts.priority, facts.traceparent`,
  ),
);
