/**
 * Facts: the outbox of events, written in the transaction of their cause. Relays claim them, start workflows, and delete them (ENG-4,
 * ENG-9).
 */
import type { DataSource } from 'typeorm';
import type { FactDetails, Priority } from '../../entities/facts/values.ts';
import { Queries, type Transaction } from '../infra/postgres/database.ts';
import { prepared } from '../infra/postgres/prepared.ts';
import { sql } from '../infra/postgres/sql.ts';
import { newId, type Id } from '../core/ids.ts';
import type { EventType } from '../core/event-types.ts';
import { traceparent } from '../infra/tracing.ts';
import { claimInTurns, deferring, inTurns, type Claimed, type ClaimValues, type Failure, type Room } from './turns.ts';

export interface NewFact {
  clubId: Id;
  type: EventType;
  studentId: Id;
  /** The id of an enrollment, purchase, subscription, lesson, course, certificate, tag or level. */
  subjectId?: Id;
  details?: FactDetails;
  occurredAt: Date;
  /** Normal if absent. */
  priority?: Priority;
}

export type FactOptions = Pick<NewFact, 'details' | 'priority'>;

export interface FactToTell {
  id: Id;
  clubId: Id;
  type: EventType;
  studentId: Id;
  subjectId: Id | null;
  details: FactDetails | null;
  occurredAt: Date;
  /** Normal if absent. */
  priority?: Priority;
  /** Null or absent without tracing. */
  traceparent?: string | null;
}

/** @returns the id of the event */
export async function recordFact(tx: Transaction, fact: NewFact): Promise<Id> {
  const [id] = await recordFacts(tx, [fact]);
  if (id === undefined) throw new Error('The new fact got no id');
  return id;
}

/** @returns their ids */
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

/**
 * The result of a consumer for one fact:
 * - `consumed`: all effects of the fact are committed, and the relay must still start the listed runs;
 * - `removed`: all effects are committed, and the fact is deleted, because it needs no run;
 * - `blocked`: nothing is committed, because another transaction holds a row that the fact needs. The relay then hands this fact to the
 * consumers alone.
 */
export type FactResult<Run> = { kind: 'consumed'; runs: readonly Run[] } | { kind: 'removed' } | { kind: 'blocked' };

/** After this wait for a lock, in milliseconds, each fact is consumed alone. */
export const togetherWaitsMs = 100;
export interface ClaimedFact extends FactToTell {
  priority: Priority;
}

/** @returns facts, the most urgent first, in rotation over the clubs, the oldest first within a club (ENG-9, ENG-15) */
export async function claimFacts(db: DataSource | Queries, room: Room): Promise<ClaimedFact[]> {
  return claimInTurns(leaseFacts, db, room);
}

/** The key begins with the club, like every key of a club's rows. */
export type FactKey = Pick<FactToTell, 'clubId' | 'id'>;

export async function removeFacts(on: DataSource | Queries, facts: readonly FactKey[]): Promise<void> {
  await deleteFacts(on, { clubIds: facts.map(({ clubId }) => clubId), ids: facts.map(({ id }) => id) });
}

const deleteFacts = prepared<never, { clubIds: readonly Id[]; ids: readonly Id[] }>(
  'delete_facts',
  (value) => `DELETE FROM facts USING unnest(${value.clubIds}::uuid[], ${value.ids}::uuid[]) AS done (club_id, id)
    WHERE facts.club_id = done.club_id AND facts.id = done.id`,
);

/** Makes a failed fact due again after 5 s. Each further fault doubles the pause, up to 10 minutes. */
export async function deferFact(source: DataSource, { clubId, id }: FactKey, failure: Failure): Promise<void> {
  await new Queries(source.manager).run(deferring(sql`facts`, sql`club_id = ${clubId} AND id = ${id}`, failure));
}

const leaseFacts = prepared<Claimed<ClaimedFact>, ClaimValues>(
  'lease_facts',
  inTurns(
    'facts',
    'id',
    'due_at, seq',
    `facts.id, facts.club_id AS "clubId", facts.type, facts.student_id AS "studentId",
     facts.subject_id AS "subjectId", facts.details, facts.occurred_at AS "occurredAt", facts.priority, facts.traceparent`,
  ),
);
