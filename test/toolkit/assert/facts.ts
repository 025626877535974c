/** Reads facts that no relay has handled yet: the facts of a club, or the facts about a student. */
import type { Id } from '../../../platform/core/ids.ts';
import { testDatabase } from '../stack/database.ts';

/** The facts of a club with their subjects, oldest first. */
export async function factRecordsOf(
  clubId: Id,
): Promise<{ type: string; studentId: Id; subjectId: Id | null; details: unknown }[]> {
  const source = await testDatabase();
  return source.query(
    `SELECT type, student_id AS "studentId", subject_id AS "subjectId", details FROM facts WHERE club_id = $1 ORDER BY seq`,
    [clubId],
  );
}

/** The types of a club's facts, each with its subject record, oldest first. */
export async function factsWithSubjects(clubId: Id): Promise<{ type: string; subjectId: Id | null }[]> {
  return (await factRecordsOf(clubId)).map(({ type, subjectId }) => ({ type, subjectId }));
}

/** The types of a club's facts, oldest first. */
export async function factTypes(clubId: Id): Promise<string[]> {
  return (await factRecordsOf(clubId)).map(({ type }) => type);
}

/** Facts that no relay has handled yet, oldest first, such as `lesson.completed <id>`. */
export async function completionsOf(studentId: Id): Promise<string[]> {
  const source = await testDatabase();
  const rows = await source.query<{ type: string; subjectId: Id }[]>(
    `SELECT type, subject_id AS "subjectId" FROM facts
      WHERE student_id = $1 AND type IN ('lesson.completed', 'course.completed') ORDER BY seq`,
    [studentId],
  );
  return rows.map(({ type, subjectId }) => `${type} ${subjectId}`);
}
