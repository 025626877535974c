/**
 * Requests the workflow run that completes a course for students who did not request this themselves (DEC-153). This module uses only
 * tables and no
 * code of the context `learning`. So `access` can call it, although `learning` depends on `access`.
 */
import { CourseCompletionLook } from '../../entities/learning/course-completion-look.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { wake } from '../../platform/engine/wakes.ts';
import type { Subject } from '../../platform/engine/workflow-types.ts';
import type { Transaction } from '../../platform/infra/postgres/database.ts';
import { columns, sql, type Sql } from '../../platform/infra/postgres/sql.ts';

/**
 * Requests the workflow run for a course that now has fewer published lessons, or that was published again. The function runs one statement
 * for any
 * number of students. The caller holds the lock of the course. So each concurrent completion either has already committed, or sees the
 * change of the course.
 */
export async function judgeCourseLater(
  tx: Transaction,
  { clubId, courseId }: { clubId: Id; courseId: Id },
  now: Date,
): Promise<void> {
  const courses = sql`SELECT id, ${now}::timestamptz FROM courses
    WHERE id = ${courseId} AND status = 'published' AND EXISTS (
      SELECT FROM lessons lesson JOIN lesson_progress progress ON progress.lesson_id = lesson.id AND progress.completed
       WHERE lesson.course_id = courses.id AND lesson.published_at IS NOT NULL)`;
  await beginPasses(tx, clubId, courses, now);
}

/**
 * Requests the run for courses of these students. A student must have access to the course now or later, and must have completed all its
 * published lessons. A lesson may have been withdrawn while the student had no access. The caller's transaction has locked the students and
 * changed their access.
 */
export async function judgeCoursesOfAccess(
  tx: Transaction,
  { clubId, studentIds }: { clubId: Id; studentIds: readonly Id[] },
  now: Date,
): Promise<void> {
  const courses = sql`SELECT opening.course_id, min(greatest(enrollment.starts_at, ${now}))
      FROM enrollments enrollment JOIN access_deliveries opening ON opening.id = enrollment.delivery_id
     WHERE enrollment.student_id = ANY (${studentIds}::uuid[]) AND opening.course_id IS NOT NULL AND enrollment.revoked_at IS NULL
       AND (enrollment.ends_at IS NULL OR enrollment.ends_at > ${now})
       AND NOT EXISTS (SELECT FROM course_completions completion
                        WHERE completion.student_id = enrollment.student_id AND completion.course_id = opening.course_id)
       AND EXISTS (SELECT FROM lessons lesson WHERE lesson.course_id = opening.course_id AND lesson.published_at IS NOT NULL)
       AND NOT EXISTS (SELECT FROM lessons lesson
                        WHERE lesson.course_id = opening.course_id AND lesson.published_at IS NOT NULL AND NOT EXISTS (
                          SELECT FROM lesson_progress progress
                           WHERE progress.student_id = enrollment.student_id AND progress.lesson_id = lesson.id AND progress.completed))
     GROUP BY 1`;
  await beginPasses(tx, clubId, courses, now);
}

const lookSubject = columns(CourseCompletionLook, ['courseId', 'clubId'], 'look');

/**
 * Begins a pass over the students of each course, or restarts the current pass.
 * @param courses a query that selects the ids of courses, each with the time at which the run must check the students of the course
 */
async function beginPasses(tx: Transaction, clubId: Id, courses: Sql, now: Date): Promise<void> {
  const startedPasses = await tx.rows<Subject<'courseCompletion'>>(sql`
    INSERT INTO course_completion_looks AS look (course_id, club_id, looks_at, pass_id)
    SELECT course.course_id, ${clubId}, course.looks_at, ${newId()} FROM (${courses}) AS course (course_id, looks_at) ORDER BY course.course_id
    ON CONFLICT (course_id) DO UPDATE
       SET looks_at = least(look.looks_at, excluded.looks_at), pass_id = excluded.pass_id, after_id = NULL, resumes_at = NULL
    RETURNING ${lookSubject}`);
  await wake(tx, 'courseCompletion', startedPasses, now);
}
