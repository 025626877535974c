/** Puts tags on students and takes them off, each real change with its fact (EVT-17, EVT-18). */
import type { Database } from '../../../platform/infra/postgres/database.ts';
import { sql, type Sql } from '../../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../../deps.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { EventType } from '../../../platform/core/event-types.ts';
import { recordFact } from '../../../platform/engine/facts.ts';
import { lockStudent } from '../../identity/accounts.ts';
import { lockTag } from './tags.ts';

export interface Tagging {
  clubId: Id;
  studentId: Id;
  tagId: Id;
}

/**
 * Puts a tag on a student and records `student.tagged`; one that is there already is no change.
 * @throws DomainError not_found (student or tag)
 */
export async function tagStudent({ db }: DatabaseDeps, tagging: Tagging, now: Date): Promise<void> {
  const { studentId, tagId } = tagging;
  const statement = sql`INSERT INTO student_tags (student_id, tag_id, tagged_at) VALUES (${studentId}, ${tagId}, ${now})
    ON CONFLICT DO NOTHING RETURNING 1`;
  await change(db, tagging, 'student.tagged', statement, now);
}

/**
 * Takes a tag off a student and records `student.untagged`; one that is not there is no change.
 * @throws DomainError not_found (student or tag)
 */
export async function untagStudent({ db }: DatabaseDeps, tagging: Tagging, now: Date): Promise<void> {
  const { studentId, tagId } = tagging;
  const statement = sql`DELETE FROM student_tags WHERE student_id = ${studentId} AND tag_id = ${tagId} RETURNING 1`;
  await change(db, tagging, 'student.untagged', statement, now);
}

async function change(
  db: Database,
  { clubId, studentId, tagId }: Tagging,
  type: EventType,
  statement: Sql,
  now: Date,
): Promise<void> {
  await db.transaction(async (tx) => {
    await lockStudent(tx, clubId, studentId);
    await lockTag(tx, clubId, tagId, 'share');
    const changed = await tx.rows(statement);
    if (changed.length === 0) return;
    await recordFact(tx, { clubId, type, studentId, subjectId: tagId, occurredAt: now });
  });
}
