/** How far a student is in a course: the counts that the classroom, a completion and administrators look at. */
import type { RecordOf } from '../../../contract/contract.ts';
import type { CourseStatus } from '../../../entities/learning/values.ts';
import { hasAccessToCourse } from '../../access/enrollments/entitlement.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { windowOf, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import { findStudent } from '../../identity/students.ts';

export interface Progress {
  lessonCount: number;
  completedLessonCount: number;
  /** When the course was completed, which stays whatever is published or undone later. */
  completedAt: Date | null;
}

export const progressColumns = `counted.lessons AS "lessonCount", counted.completed AS "completedLessonCount",
  completion.completed_at AS "completedAt"`;

/** Joins {@link progressColumns} to `courses course`: published lessons alone count. @param student an SQL expression, such as `$1` */
export const joinProgress = (student: string) => `
  CROSS JOIN LATERAL (
    SELECT count(*)::int AS lessons, count(*) FILTER (WHERE progress.completed)::int AS completed
      FROM lessons lesson LEFT JOIN lesson_progress progress ON progress.lesson_id = lesson.id AND progress.student_id = ${student}
     WHERE lesson.course_id = course.id AND lesson.published_at IS NOT NULL) counted
  LEFT JOIN course_completions completion ON completion.course_id = course.id AND completion.student_id = ${student}`;

interface ProgressRow extends Progress {
  courseId: Id;
  coursePublicId: string;
  courseTitle: string;
  courseStatus: CourseStatus;
  hasAccess: boolean;
}

/**
 * @returns a page with a row for each course that the student has access to or has completed a lesson of, newest courses first
 * @throws DomainError not_found (student)
 */
export async function listProgress(
  db: Queries,
  clubId: Id,
  studentId: Id,
  page: PageRequest,
  now: Date,
): Promise<Page<RecordOf<'CourseProgress'>>> {
  await findStudent(db, clubId, studentId);
  const { limit, offset } = windowOf(page);
  const access = hasAccessToCourse({ course: 'course.id', student: '$2', now: '$3' });
  const where = `course.club_id = $1 AND (${access} OR course.id IN (
    SELECT lesson.course_id FROM lesson_progress progress JOIN lessons lesson ON lesson.id = progress.lesson_id
     WHERE progress.student_id = $2))`;
  const parameters = [clubId, studentId, now];
  const [total] = await db.query<{ total: number }[]>(
    `SELECT count(*)::int AS total FROM courses course WHERE ${where}`,
    parameters,
  );
  const rows = await db.query<ProgressRow[]>(
    `SELECT course.id AS "courseId", course.public_id AS "coursePublicId", course.title AS "courseTitle",
            course.status AS "courseStatus", ${access} AS "hasAccess", ${progressColumns}
       FROM courses course ${joinProgress('$2')}
      WHERE ${where} ORDER BY course.created_at DESC, course.id DESC LIMIT ${limit} OFFSET ${offset}`,
    parameters,
  );
  return { rows: rows.map(presentProgress), total: total?.total ?? 0 };
}

function presentProgress(row: ProgressRow): RecordOf<'CourseProgress'> {
  return {
    course_id: row.courseId,
    course_public_id: row.coursePublicId,
    course_title: row.courseTitle,
    course_status: row.courseStatus,
    has_access: row.hasAccess,
    lesson_count: row.lessonCount,
    completed_lesson_count: row.completedLessonCount,
    ...(row.completedAt !== null && { completed_at: row.completedAt.toISOString() }),
  };
}
