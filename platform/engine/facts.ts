/** Facts: writes the outbox of events, in the transaction that makes them true (ENG-4). */
import type { FactDetails, Priority } from '../../entities/facts/values.ts';
import type { Transaction } from '../infra/postgres/database.ts';
import { sql } from '../infra/postgres/sql.ts';
import { newId, type Id } from '../core/ids.ts';
import type { EventType } from '../core/event-types.ts';

export interface NewFact {
  clubId: Id;
  type: EventType;
  /** Whom the fact is about. */
  studentId: Id;
  /** The record that it is about: the enrollment, purchase, subscription, lesson, course, certificate, tag or level. */
  subjectId?: Id;
  details?: FactDetails;
  occurredAt: Date;
  /** Normal if absent. */
  priority?: Priority;
}

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

/** The same for many at once, told in this order. @returns their ids */
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
