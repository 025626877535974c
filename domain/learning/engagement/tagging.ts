/** Adds tags to students and removes them. A call that changes the tags of a student records a fact (EVT-17, EVT-18). */
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql, type Sql } from '../../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../../deps.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { recordFact, type NewFact, type FactOptions } from '../../../platform/engine/facts.ts';
import { lockStudent } from '../../identity/accounts/accounts.ts';
import { lockTag } from './tags.ts';

export interface Tagging {
  clubId: Id;
  studentId: Id;
  tagId: Id;
}

/**
 * Adds a tag to a student and records `student.tagged`. Nothing changes if the student already has the tag.
 * @throws DomainError not_found (no such student or tag)
 */
export async function tagStudent({ db }: DatabaseDeps, tagging: Tagging, now: Date): Promise<void> {
  await db.transaction((tx) => putTag(tx, tagging, now));
}

/**
 * Adds a tag inside a transaction.
 * @param options the priority and the details of the fact
 * @returns true if the student did not have the tag before
 */
export async function putTag(
  tx: Transaction,
  tagging: Tagging,
  now: Date,
  options: FactOptions = {},
): Promise<boolean> {
  const { studentId, tagId } = tagging;
  const statement = sql`INSERT INTO student_tags (student_id, tag_id, tagged_at) VALUES (${studentId}, ${tagId}, ${now})
    ON CONFLICT DO NOTHING RETURNING 1`;
  return change(tx, tagging, { ...options, type: 'student.tagged' }, statement, now);
}

/**
 * Removes a tag from a student and records `student.untagged`. Nothing changes if the student does not have the tag.
 * @throws DomainError not_found (no such student or tag)
 */
export async function untagStudent({ db }: DatabaseDeps, tagging: Tagging, now: Date): Promise<void> {
  await db.transaction((tx) => takeTag(tx, tagging, now));
}

/**
 * Removes a tag inside a transaction.
 * @param options the priority and the details of the fact
 * @returns true if the student had the tag before
 */
export async function takeTag(
  tx: Transaction,
  tagging: Tagging,
  now: Date,
  options: FactOptions = {},
): Promise<boolean> {
  const { studentId, tagId } = tagging;
  const statement = sql`DELETE FROM student_tags WHERE student_id = ${studentId} AND tag_id = ${tagId} RETURNING 1`;
  return change(tx, tagging, { ...options, type: 'student.untagged' }, statement, now);
}

async function change(
  tx: Transaction,
  { clubId, studentId, tagId }: Tagging,
  fact: FactOptions & Pick<NewFact, 'type'>,
  statement: Sql,
  now: Date,
): Promise<boolean> {
  await lockStudent(tx, clubId, studentId);
  await lockTag(tx, clubId, tagId, 'share');
  const changed = await tx.rows(statement);
  if (changed.length === 0) return false;
  await recordFact(tx, { ...fact, clubId, studentId, subjectId: tagId, occurredAt: now });
  return true;
}
