/** Adds tags to students and removes them. A call that changes the tags of a student records a fact (EVT-17, EVT-18). */
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql, type Sql } from '../../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../../deps.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { recordFacts, type NewFact, type FactOptions } from '../../../platform/engine/facts.ts';
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
 * @param options the priority and the details of the fact
 * @returns true if the student did not have the tag before
 */
export async function putTag(
  tx: Transaction,
  { studentId, ...tagging }: Tagging,
  now: Date,
  options: FactOptions = {},
): Promise<boolean> {
  await lockStudent(tx, tagging.clubId, studentId);
  return (await putTagOnMany(tx, { ...tagging, studentIds: [studentId] }, now, options)).has(studentId);
}

/** A tag and many students, whom the transaction has locked. */
export interface ManyTaggings extends Omit<Tagging, 'studentId'> {
  studentIds: readonly Id[];
}

/**
 * Adds a tag to many students, with one fact for each student who did not have it. The number of statements does not grow with the
 * students.
 * @param options the priority and the details of the facts
 * @returns the students who did not have the tag before
 * @throws DomainError not_found (no such tag), before anything is written
 */
export async function putTagOnMany(
  tx: Transaction,
  taggings: ManyTaggings,
  now: Date,
  options: FactOptions = {},
): Promise<ReadonlySet<Id>> {
  const { studentIds, tagId } = taggings;
  const statement = sql`INSERT INTO student_tags (student_id, tag_id, tagged_at)
     SELECT id, ${tagId}, ${now} FROM unnest(${studentIds}::uuid[]) AS id ORDER BY id
     ON CONFLICT DO NOTHING RETURNING student_id AS id`;
  return change(tx, taggings, { ...options, type: 'student.tagged' }, statement, now);
}

/**
 * Removes a tag from a student and records `student.untagged`. Nothing changes if the student does not have the tag.
 * @throws DomainError not_found (no such student or tag)
 */
export async function untagStudent({ db }: DatabaseDeps, tagging: Tagging, now: Date): Promise<void> {
  await db.transaction((tx) => takeTag(tx, tagging, now));
}

/**
 * @param options the priority and the details of the fact
 * @returns true if the student had the tag before
 */
export async function takeTag(
  tx: Transaction,
  { studentId, ...tagging }: Tagging,
  now: Date,
  options: FactOptions = {},
): Promise<boolean> {
  await lockStudent(tx, tagging.clubId, studentId);
  return (await takeTagFromMany(tx, { ...tagging, studentIds: [studentId] }, now, options)).has(studentId);
}

/**
 * Removes a tag from many students, like {@link putTagOnMany}.
 * @returns the students who had the tag before
 * @throws DomainError not_found (no such tag), before anything is written
 */
export async function takeTagFromMany(
  tx: Transaction,
  taggings: ManyTaggings,
  now: Date,
  options: FactOptions = {},
): Promise<ReadonlySet<Id>> {
  const { studentIds, tagId } = taggings;
  const statement = sql`DELETE FROM student_tags WHERE student_id = ANY (${studentIds}::uuid[]) AND tag_id = ${tagId}
     RETURNING student_id AS id`;
  return change(tx, taggings, { ...options, type: 'student.untagged' }, statement, now);
}

/** @param statement returns the students whose tags it has changed */
async function change(
  tx: Transaction,
  { clubId, studentIds, tagId }: ManyTaggings,
  fact: FactOptions & Pick<NewFact, 'type'>,
  statement: Sql,
  now: Date,
): Promise<ReadonlySet<Id>> {
  await lockTag(tx, clubId, tagId, 'share');
  const changed = new Set((await tx.rows<{ id: Id }>(statement)).map(({ id }) => id));
  const students = studentIds.filter((id) => changed.has(id));
  await recordFacts(
    tx,
    students.map((studentId) => ({ ...fact, clubId, studentId, subjectId: tagId, occurredAt: now })),
  );
  return changed;
}
