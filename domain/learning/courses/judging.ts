/** Completes a course for students who send no completion request, after a lesson was withdrawn or their access was restored (DEC-153). */
import { bulk } from '../../../entities/facts/values.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import type { Database, Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { AddressedDeps } from '../../deps.ts';
import { judgeCourse } from './completion.ts';

export interface JudgingDeps extends Pick<AddressedDeps, 'db' | 'publicUrl'> {
  failpoint: (name: 'course_page_read' | 'course_student_judged' | 'course_page_recorded') => Promise<void>;
}

export type CourseCompletionStep = { done: true; outcome: 'judged' } | { done: false; at?: number };

/**
 * The number of students that one step reads, and the number of course completions after which a step ends. These limits keep a step short,
 * so that other upkeep waits less than a second.
 */
export const judging = { lookedAt: 500, judged: 50 } as const;

interface Look {
  clubId: Id;
  passId: Id;
  afterId: Id | null;
  looksAt: Date;
}

/**
 * The step of `course-completion/<course>`. It reads the next page of students who have completed a published lesson, in the order of their
 * ids. If a student has completed all published lessons, the step checks whether it can complete the course for this student. A change of
 * the course during the run begins a new pass. The step may be repeated, or run twice at the same time, because each student completes a
 * course only once.
 * @param now Unix milliseconds
 */
export async function judgeCompletions(deps: JudgingDeps, courseId: Id, now: number): Promise<CourseCompletionStep> {
  const { db, failpoint } = deps;
  const look = await db.one<Look>(sql`
    SELECT club_id AS "clubId", pass_id AS "passId", after_id AS "afterId", looks_at AS "looksAt"
      FROM course_completion_looks WHERE course_id = ${courseId}`);
  if (!look) return { done: true, outcome: 'judged' };
  if (look.looksAt.getTime() > now) return { done: false, at: look.looksAt.getTime() };
  const at = new Date(now);
  const page = await readPage(db, courseId, look.afterId);
  await failpoint('course_page_read');
  const whole = page.filter(({ isWhole }) => isWhole).slice(0, judging.judged);
  let resumesAt: Date | undefined;
  for (const { studentId } of whole) {
    const begins = await judgeStudent(deps, { clubId: look.clubId, studentId, courseId }, at);
    if (begins && (!resumesAt || begins < resumesAt)) resumesAt = begins;
    await failpoint('course_student_judged');
  }
  const end =
    whole.length === judging.judged ? whole.at(-1) : page.length === judging.lookedAt ? page.at(-1) : undefined;
  const last = end?.studentId;
  const step = await recordPage(db, courseId, look, { last, resumesAt, at });
  await failpoint('course_page_recorded');
  return step;
}

/**
 * Reads a page of the students who have completed the first published lesson. An index finds these students fast. A student who has
 * completed all lessons has also completed the first, so no such student is missed. The page is empty if the course is unpublished or has
 * no published lesson.
 */
async function readPage(db: Database, courseId: Id, after: Id | null): Promise<{ studentId: Id; isWhole: boolean }[]> {
  const from = after === null ? sql`` : sql`AND first.student_id > ${after}`;
  return db.rows<{ studentId: Id; isWhole: boolean }>(sql`
    SELECT first.student_id AS "studentId",
           NOT EXISTS (SELECT FROM course_completions completion
                        WHERE completion.student_id = first.student_id AND completion.course_id = ${courseId})
           AND NOT EXISTS (SELECT FROM lessons lesson
                            WHERE lesson.course_id = ${courseId} AND lesson.published_at IS NOT NULL AND NOT EXISTS (
                              SELECT FROM lesson_progress progress
                               WHERE progress.student_id = first.student_id AND progress.lesson_id = lesson.id AND progress.completed)) AS "isWhole"
      FROM lesson_progress first
     WHERE first.completed ${from}
       AND first.lesson_id = (SELECT lesson.id FROM lessons lesson JOIN courses course ON course.id = lesson.course_id
                               WHERE course.id = ${courseId} AND course.status = 'published' AND lesson.published_at IS NOT NULL
                               ORDER BY lesson.id LIMIT 1)
     ORDER BY first.student_id LIMIT ${judging.lookedAt}`);
}

/**
 * Checks the current state of one student, under the same locks as a completion. The course is not completed if a lesson was published
 * again, if the student's access has ended, or if the student was removed. Each student has a separate transaction, so that no other
 * transaction waits for a whole page.
 * @returns when the student's access begins, if later than now
 */
async function judgeStudent(
  { db, publicUrl }: JudgingDeps,
  { clubId, studentId, courseId }: { clubId: Id; studentId: Id; courseId: Id },
  now: Date,
): Promise<Date | undefined> {
  return db.transaction(async (tx) => {
    const isThere = await tx.one(
      sql`SELECT 1 FROM students WHERE id = ${studentId} AND removed_at IS NULL FOR NO KEY UPDATE`,
    );
    if (!isThere) return undefined;
    await tx.run(sql`SELECT FROM courses WHERE id = ${courseId} FOR SHARE`);
    const reader = { clubId, id: studentId };
    const course = await judgeCourse(tx, publicUrl, { reader, courseId, priority: bulk }, now);
    return course ? undefined : findBeginning(tx, studentId, courseId, now);
  });
}

/** @returns when the student's next access to the course begins */
async function findBeginning(tx: Transaction, studentId: Id, courseId: Id, now: Date): Promise<Date | undefined> {
  const row = await tx.one<{ begins: Date | null }>(sql`
    SELECT min(enrollment.starts_at) AS begins
      FROM enrollments enrollment JOIN access_deliveries opening ON opening.id = enrollment.delivery_id
     WHERE enrollment.student_id = ${studentId} AND opening.course_id = ${courseId} AND enrollment.revoked_at IS NULL
       AND enrollment.starts_at > ${now}`);
  return row?.begins ?? undefined;
}

/** @returns the next step. If a new pass began during this step, the next step reads the first page of the new pass */
async function recordPage(
  db: Database,
  courseId: Id,
  { passId, afterId }: Look,
  { last, resumesAt = null, at }: { last: Id | undefined; resumesAt?: Date | null | undefined; at: Date },
): Promise<CourseCompletionStep> {
  const same = sql`course_id = ${courseId} AND pass_id = ${passId} AND after_id IS NOT DISTINCT FROM ${afterId}::uuid`;
  if (last !== undefined) {
    await db.run(sql`UPDATE course_completion_looks
      SET after_id = ${last}, looks_at = ${at}, resumes_at = least(resumes_at, ${resumesAt}::timestamptz) WHERE ${same}`);
    return { done: false };
  }
  const next = await db.one<{ looksAt: Date }>(sql`UPDATE course_completion_looks
      SET pass_id = ${newId()}, after_id = NULL, looks_at = least(resumes_at, ${resumesAt}::timestamptz), resumes_at = NULL
    WHERE ${same} AND least(resumes_at, ${resumesAt}::timestamptz) IS NOT NULL RETURNING looks_at AS "looksAt"`);
  if (next) return { done: false, at: next.looksAt.getTime() };
  const ended = await db.run(sql`DELETE FROM course_completion_looks WHERE ${same} AND resumes_at IS NULL`);
  return ended > 0 ? { done: true, outcome: 'judged' } : { done: false };
}
