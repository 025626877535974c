/** Counts a student's progress in a course. */
import type { RecordOf } from '../../../contract/contract.ts';
import { Course } from '../../../entities/learning/course.ts';
import { CourseCompletion } from '../../../entities/learning/course-completion.ts';
import { hasAccessToCourse } from '../../access/enrollments/entitlement.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { columns, sql, type RowOf, type Sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { newestFirst } from '../../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import { findStudent } from '../../identity/students.ts';

export interface Progress {
  lessonCount: number;
  completedLessonCount: number;
  /** Does not change if lessons are published later, or if the student undoes completions. */
  completedAt: Date | null;
}

/**
 * The columns of a student's progress. A statement selects them in addition to columns of `courses course`, and joins their tables with
 * `joinProgress`.
 */
export const progressColumns = columns(CourseCompletion, ['completedAt'], 'completion').and<Progress>(
  sql`counted.lessons AS "lessonCount", counted.completed AS "completedLessonCount"`,
);

/** Joins {@link progressColumns} to `courses course`. Only published lessons count. */
export const joinProgress = (studentId: Id): Sql => sql`
  CROSS JOIN LATERAL (
    SELECT count(*)::int AS lessons, count(*) FILTER (WHERE progress.completed)::int AS completed
      FROM lessons lesson LEFT JOIN lesson_progress progress ON progress.lesson_id = lesson.id AND progress.student_id = ${studentId}
     WHERE lesson.course_id = course.id AND lesson.published_at IS NOT NULL) counted
  LEFT JOIN course_completions completion ON completion.course_id = course.id AND completion.student_id = ${studentId}`;

/** Whether all published lessons are completed; false without a published lesson (EVT-15). */
export function isWhole({ lessonCount, completedLessonCount }: Omit<Progress, 'completedAt'>): boolean {
  return lessonCount > 0 && completedLessonCount === lessonCount;
}

const courseProgress = columns(
  Course,
  { courseId: 'id', coursePublicId: 'publicId', courseTitle: 'title', courseStatus: 'status' },
  'course',
).and<Progress>(progressColumns);
type ProgressRow = RowOf<typeof courseProgress> & { hasAccess: boolean };

/**
 * @returns a page with the courses that the student can access or has begun, newest first
 * @throws DomainError not_found (no such student)
 */
export async function listProgress(
  db: Queries,
  clubId: Id,
  studentId: Id,
  page: PageRequest,
  now: Date,
): Promise<Page<RecordOf<'CourseProgress'>>> {
  await findStudent(db, clubId, studentId);
  const access = hasAccessToCourse(sql`course.id`, studentId, now);
  const condition = sql`course.club_id = ${clubId} AND (${access} OR course.id IN (
    SELECT lesson.course_id FROM lesson_progress progress JOIN lessons lesson ON lesson.id = progress.lesson_id
     WHERE progress.student_id = ${studentId}))`;
  const { rows, total, next } = await listPage(db, page, {
    columns: courseProgress.and<{ hasAccess: boolean }>(sql`${access} AS "hasAccess"`),
    from: sql`FROM courses course ${joinProgress(studentId)} WHERE ${condition}`,
    counted: sql`FROM courses course WHERE ${condition}`,
    orderBy: newestFirst('course'),
  });
  return { rows: rows.map(presentProgress), total, next };
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
