/** The inputs of the functions that read event data, and a query for the records of several facts. */
import type { FactToTell } from '../../../../platform/engine/facts.ts';
import type { Queries } from '../../../../platform/infra/postgres/database.ts';
import { sql, type Columns, type Sql } from '../../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../../platform/core/ids.ts';

/** The current data of a fact's student. A removed student has no name and no e-mail. */
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
 * Reads the field `data` of events from the current records. The caller has locked the students' rows.
 * @param subjects facts of one type
 * @returns one value for each fact, in their order
 */
export type DataReader<Data extends object> = (
  tx: Queries,
  subjects: readonly FactAndStudent[],
  now: Date,
) => Promise<Data[]>;

/**
 * Reads the records of facts in one statement.
 * @param joined the join that reads the record of each fact, such as `` sql`JOIN tags tag ON tag.id = fact.subject_id AND tag.club_id =
 * fact.club_id` ``. It gives at most one row for each `fact`, which has `club_id`, `student_id` and `subject_id`
 * @returns each fact with its row, in the order of the facts
 * @throws Error if the record does not exist, because records of facts are never deleted
 */
export async function recordsOf<Row>(
  tx: Queries,
  subjects: readonly FactAndStudent[],
  selected: Columns<Row>,
  joined: Sql,
): Promise<(FactAndStudent & { row: Row })[]> {
  const facts = subjects.map(({ fact }) => fact);
  const rows = await tx.rows<Row & { position: number }>(
    sql`SELECT fact.place::int AS position, ${selected}
         FROM unnest(${facts.map(({ clubId }) => clubId)}::uuid[], ${facts.map(({ studentId }) => studentId)}::uuid[],
                     ${facts.map(({ subjectId }) => subjectId)}::uuid[])
           WITH ORDINALITY AS fact (club_id, student_id, subject_id, place)
         ${joined}`,
  );
  const rowsByPosition = new Map(rows.map((row) => [row.position, row]));
  return subjects.map(({ fact, student }, index) => {
    const row = rowsByPosition.get(index + 1);
    if (row === undefined) throw new Error(`The record of the fact ${fact.type} does not exist`);
    return { fact, student, row };
  });
}
