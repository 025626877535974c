/**
 * Facts: the outbox of events. A fact is written in the transaction of its cause. Relays claim facts in turns over the clubs, and
 * delete each once its workflows are started (ENG-4, ENG-9). Wakes are claimed in the same way.
 */
import type { DataSource } from 'typeorm';
import { bulk, type FactDetails, type Priority } from '../../entities/facts/values.ts';
import { Queries, type Transaction } from '../infra/postgres/database.ts';
import { prepared, type Statement } from '../infra/postgres/prepared.ts';
import { sql, type Sql } from '../infra/postgres/sql.ts';
import { newId, type Id } from '../core/ids.ts';
import type { EventType } from '../core/event-types.ts';

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
  const rows = facts.map((fact) => ({ ...fact, id: newId() }));
  await tx.run(
    sql`INSERT INTO facts (id, club_id, type, student_id, subject_id, details, occurred_at, priority)
     SELECT (one->>'id')::uuid, (one->>'clubId')::uuid, one->>'type', (one->>'studentId')::uuid, (one->>'subjectId')::uuid,
            one->'details', (one->>'occurredAt')::timestamptz, coalesce((one->>'priority')::smallint, 1)
       FROM jsonb_array_elements(${JSON.stringify(rows)}::jsonb) WITH ORDINALITY AS given (one, place) ORDER BY place`,
  );
  tx.notifyRelay();
  return rows.map(({ id }) => id);
}

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
export type Claimed<Row> = Row & {
  /** Whether it is a claimed row. */
  found: boolean;
  /** Whether there were candidates. */
  contended: boolean;
};

/** The workflows of these facts are started. */
export async function removeFacts(source: DataSource, ids: readonly Id[]): Promise<void> {
  await deleteFacts(source, [ids]);
}

const deleteFacts = prepared('delete_facts', `DELETE FROM facts WHERE id = ANY ($1)`);

/** Why a row failed. A fault of `its own` lengthens its pause; while Temporal is `away`, no row is at fault. */
export type Failure = 'its own' | 'away';

/**
 * Makes a failed fact due again after 5 s. The pause doubles with each further fault of its own, up to 10 minutes. The fact then
 * queues behind the facts that were due before.
 */
export async function deferFact(source: DataSource, id: Id, failure: Failure): Promise<void> {
  await new Queries(source.manager).run(deferring(sql`facts`, sql`id = ${id}`, failure));
}

export function deferring(table: Sql, row: Sql, failure: Failure): Sql {
  const { seconds, longestSeconds } = backoff;
  // The exponent is bounded: a number beyond any float would be an error.
  const counted = sql`attempt_count = least(attempt_count + 1, 32767),
           due_at = clock_timestamp() + make_interval(secs => least(${longestSeconds}, ${seconds} * 2 ^ least(attempt_count, 20)))`;
  const uncounted = sql`due_at = clock_timestamp() + make_interval(secs => ${seconds})`;
  return sql`UPDATE ${table} SET lease_until = NULL, ${failure === 'its own' ? counted : uncounted} WHERE ${row}`;
}

/** Candidates for each wanted row: several relays that claim at the same moment still get their rows. */
const candidatesARow = 4;
/** Rows to read: of each club and priority at least, and in all for each wanted row. */
const readOfAClub = 4;
const readARow = 2 * candidatesARow;

/**
 * Leases rows, the most urgent first (ENG-15), and in turns over the clubs (ENG-9). The rank of a row is its turn among the rows of
 * its club and priority, plus the club's leased rows. Chance decides between equal ranks; else the lowest club ids would always win.
 *
 * A row that failed is due later, so it lies behind the others in the index and is not read until then.
 *
 * The statement finds clubs and priorities by skipping through the index, and reads a few rows of each: a long backlog costs no more
 * than a short one. It skips rows that other relays or transactions have locked before the limit counts, so they delay no others.
 */
export function inTurns(table: 'facts' | 'wakes', key: string, order: string, columns: string): string {
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
