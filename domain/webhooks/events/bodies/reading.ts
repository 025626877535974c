/** What the readers of event data share: what they get, and how they read the records of several facts at once. */
import type { FactToTell } from '../../../../platform/engine/facts.ts';
import type { Queries } from '../../../../platform/infra/postgres/database.ts';
import { sql, type Columns, type Sql } from '../../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../../platform/core/ids.ts';

/** The student of the fact, as it stands now; removed students have no name and no e-mail any more. */
export interface SubjectStudent {
  id: Id;
  name: string;
  email: string | null;
  verified: boolean;
  createdAt: Date;
  removed: boolean;
}

export interface FactAndStudent {
  fact: FactToTell;
  student: SubjectStudent;
}

/**
 * Reads `data` of events from their records as they are now. The caller has locked the students' rows.
 * @param subjects facts of one type
 * @returns one for each fact, in their order
 */
export type DataReader<Data extends object> = (
  tx: Queries,
  subjects: readonly FactAndStudent[],
  now: Date,
) => Promise<Data[]>;

/**
 * Reads the records of facts in one statement.
 * @param joined such as `` sql`JOIN tags tag ON tag.id = fact.subject_id AND tag.club_id = fact.club_id` ``: at most one row
 *   for each `fact`, which has `club_id`, `student_id` and `subject_id`
 * @returns each fact with its row, in the order of the facts
 * @throws Error where there is no such record: none that a fact is about is ever deleted
 */
export async function recordsOf<Row>(
  tx: Queries,
  subjects: readonly FactAndStudent[],
  selected: Columns<Row>,
  joined: Sql,
): Promise<(FactAndStudent & { row: Row })[]> {
  const facts = subjects.map(({ fact }) => fact);
  const rows = await tx.rows<Row & { place: number }>(
    sql`SELECT fact.place::int, ${selected}
         FROM unnest(${facts.map(({ clubId }) => clubId)}::uuid[], ${facts.map(({ studentId }) => studentId)}::uuid[],
                     ${facts.map(({ subjectId }) => subjectId)}::uuid[])
           WITH ORDINALITY AS fact (club_id, student_id, subject_id, place)
         ${joined}`,
  );
  const byPlace = new Map(rows.map((row) => [row.place, row]));
  return subjects.map(({ fact, student }, index) => {
    const row = byPlace.get(index + 1);
    if (row === undefined) throw new Error(`The record of a fact ${fact.type} is gone`);
    return { fact, student, row };
  });
}
