/** Completes lessons, and courses whose lessons are all completed (EVT-14, EVT-15). */
import { LessonProgress } from '../../../entities/learning/lesson-progress.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { AddressedDeps, DatabaseDeps } from '../../deps.ts';
import { recordFact } from '../../../platform/engine/facts.ts';
import { lockStudent } from '../../identity/accounts/accounts.ts';
import { issueOnCompletion } from '../certificates/certificates.ts';
import type { Priority } from '../../../entities/facts/values.ts';
import { findVisibleCourse, lockVisibleLessonForShare, presentCourse, type VisibleCourse } from './classroom.ts';
import { isWhole } from './progress.ts';
import type { Reader } from '../../identity/student-ref.ts';
import { wakeRunsOf } from '../../watches/watches.ts';
import { awardPoints } from '../engagement/points.ts';

/**
 * A function with which a higher context can refuse a completion. `completeLesson` calls the function before it completes a lesson that is
 * not completed yet. The student and the course are locked during the call.
 * @throws DomainError if the function refuses the completion. Then nothing is written
 */
export type RequireCompletable = (tx: Transaction, reader: Reader, lessonId: Id) => Promise<void>;

/**
 * Completes a lesson. Only the student's first completion records `lesson.completed` and awards the points. Every call also checks whether
 * the student has now completed the course ({@link judgeCourse}). After an administrator withdraws a lesson, a separate run makes this
 * check for all students (DEC-153, `judging.ts`).
 * @throws DomainError not_found if the student does not see the lesson, and the errors of `requireCompletable`; then nothing is written
 */
export async function completeLesson(
  { db, publicUrl }: Pick<AddressedDeps, 'db' | 'publicUrl'>,
  reader: Reader,
  publicId: string,
  now: Date,
  requireCompletable: RequireCompletable = async () => {},
): Promise<RecordOf<'LessonCompletion'>> {
  return db.transaction(async (tx) => {
    await lockStudent(tx, reader.clubId, reader.id);
    const lesson = await lockVisibleLessonForShare(tx, reader, publicId, now);
    if (lesson.completedAt === null) await requireCompletable(tx, reader, lesson.id);
    const { firstCompletedAt, fresh } = await markCompleted(tx, reader, lesson.id, now);
    if (fresh) {
      await recordFact(tx, factAbout(reader, 'lesson.completed', lesson.id, now));
      const cause = { kind: 'lesson', id: lesson.id } as const;
      await awardPoints(tx, { clubId: reader.clubId, studentId: reader.id, points: lesson.points, cause }, now);
    } else await wakeRunsOf(tx, reader.id, ['lesson.completed'], now); // only the first completion records a fact

    const course = await judgeCourse(tx, publicUrl, { reader, courseId: lesson.courseId }, now);
    if (!course) throw new Error('The course vanished although the transaction has locked it');
    return { completed_at: firstCompletedAt.toISOString(), course: presentCourse(course) };
  });
}

/**
 * The only function that completes a course. If the student sees the course and has completed all its published lessons, it records
 * `course.completed` and issues the certificate, both once. The caller has locked the student, and has a shared lock on the course.
 * @param about.priority the priority of the recorded facts; normal if absent
 * @returns the course with the student's progress; undefined if the student does not see the course
 */
export async function judgeCourse(
  tx: Transaction,
  publicUrl: string,
  { reader, courseId, priority }: { reader: Reader; courseId: Id; priority?: Priority },
  now: Date,
): Promise<VisibleCourse | undefined> {
  const course = await findVisibleCourse(tx, reader, courseId, now);
  if (!course || !isWhole(course) || !(await markCourseCompleted(tx, reader, courseId, now))) return course;
  const urgency = priority === undefined ? {} : { priority };
  await recordFact(tx, { ...factAbout(reader, 'course.completed', courseId, now), ...urgency });
  const completion = { clubId: reader.clubId, studentId: reader.id, courseId, completedAt: now, ...urgency };
  await issueOnCompletion(tx, publicUrl, completion, now);
  return { ...course, completedAt: now };
}

/**
 * Undoes the completion of a lesson. The first completions of lesson and course stay recorded.
 * @throws DomainError not_found if the student does not see the lesson
 */
export async function undoCompletion({ db }: DatabaseDeps, reader: Reader, publicId: string, now: Date): Promise<void> {
  await db.transaction(async (tx) => {
    await lockStudent(tx, reader.clubId, reader.id);
    const lesson = await lockVisibleLessonForShare(tx, reader, publicId, now);
    const undone = await tx.run(
      sql`UPDATE lesson_progress SET completed = false, updated_at = ${now} WHERE student_id = ${reader.id} AND lesson_id = ${lesson.id} AND completed`,
    );
    // No fact reports that a lesson is no longer completed. But some automation runs wait for this change, so they are woken here.
    if (undone > 0) await wakeRunsOf(tx, reader.id, ['lesson.completed'], now);
  });
}

/** @returns the time of the first completion, and whether this is the first */
async function markCompleted(
  tx: Transaction,
  reader: Reader,
  lessonId: Id,
  now: Date,
): Promise<{ firstCompletedAt: Date; fresh: boolean }> {
  const inserted =
    await tx.rows(sql`INSERT INTO lesson_progress (student_id, lesson_id, club_id, first_completed_at, completed, updated_at)
     VALUES (${reader.id}, ${lessonId}, ${reader.clubId}, ${now}, true, ${now}) ON CONFLICT (student_id, lesson_id) DO NOTHING RETURNING 1`);
  if (inserted.length > 0) return { firstCompletedAt: now, fresh: true };
  const row = await tx.one<
    Pick<LessonProgress, 'firstCompletedAt'>
  >(sql`UPDATE lesson_progress SET completed = true, updated_at = CASE WHEN completed THEN updated_at ELSE ${now} END
      WHERE student_id = ${reader.id} AND lesson_id = ${lessonId} RETURNING ${columns(LessonProgress, ['firstCompletedAt'])}`);
  if (!row) throw new Error('The first completion vanished although the transaction has locked the student');
  return { firstCompletedAt: row.firstCompletedAt, fresh: false };
}

/** @returns whether this is the first completion of the course */
async function markCourseCompleted(tx: Transaction, reader: Reader, courseId: Id, now: Date): Promise<boolean> {
  const inserted =
    await tx.rows(sql`INSERT INTO course_completions (student_id, course_id, club_id, completed_at) VALUES (${reader.id}, ${courseId}, ${reader.clubId}, ${now})
     ON CONFLICT (student_id, course_id) DO NOTHING RETURNING 1`);
  return inserted.length > 0;
}

function factAbout(reader: Reader, type: 'lesson.completed' | 'course.completed', subjectId: Id, occurredAt: Date) {
  return { clubId: reader.clubId, type, studentId: reader.id, subjectId, occurredAt };
}
