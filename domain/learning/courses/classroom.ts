/**
 * Courses and lessons as a student sees them: published ones that they have access to now. Everything else is answered
 * alike, whether it is unpublished, without access or unknown.
 */
import type { RecordOf } from '../../../contract/contract.ts';
import { hasAccessToCourse } from '../../access/enrollments/entitlement.ts';
import type { Transaction, Queries } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { windowOf, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import { joinProgress, progressColumns, type Progress } from './progress.ts';
import type { Reader } from '../../identity/student-ref.ts';

type ClassroomCourse = RecordOf<'ClassroomCourse'>;
type ClassroomCourseOutline = RecordOf<'ClassroomCourseOutline'>;

interface CourseRow extends Progress {
  id: Id;
  publicId: string;
  title: string;
  description: string;
  hours: number | null;
}

/** A lesson that the student sees. */
export interface VisibleLesson {
  id: Id;
  publicId: string;
  title: string;
  content: string;
  points: number;
  courseId: Id;
  coursePublicId: string;
  courseTitle: string;
  /** Its first completion, while it is completed. */
  completedAt: Date | null;
}

/** Of `courses course`; `$1` is the club, `$2` the student, `$3` the time. */
const visibleCourse = `course.club_id = $1 AND course.status = 'published'
  AND ${hasAccessToCourse({ course: 'course.id', student: '$2', now: '$3' })}`;

const courseColumns = `course.id, course.public_id AS "publicId", course.title, course.description, course.hours, ${progressColumns}`;

const outline = `(
  SELECT coalesce(jsonb_agg(jsonb_build_object('id', module.id, 'title', module.title, 'lessons', part.lessons)
                            ORDER BY module.position, module.id), '[]')
    FROM modules module CROSS JOIN LATERAL (
      SELECT jsonb_agg(jsonb_build_object('id', lesson.id, 'public_id', lesson.public_id, 'title', lesson.title,
               'completed', coalesce(progress.completed, false)) ORDER BY lesson.position, lesson.id) AS lessons
        FROM lessons lesson LEFT JOIN lesson_progress progress ON progress.lesson_id = lesson.id AND progress.student_id = $2
       WHERE lesson.module_id = module.id AND lesson.published_at IS NOT NULL) part
   WHERE module.course_id = course.id AND part.lessons IS NOT NULL)`;

/** @returns a page of the courses that the student can take, newest first */
export async function listCourses(
  db: Queries,
  reader: Reader,
  page: PageRequest,
  now: Date,
): Promise<Page<ClassroomCourse>> {
  const { limit, offset } = windowOf(page);
  const parameters = [reader.clubId, reader.id, now];
  const [total] = await db.query<{ total: number }[]>(
    `SELECT count(*)::int AS total FROM courses course WHERE ${visibleCourse}`,
    parameters,
  );
  const rows = await db.query<CourseRow[]>(
    `SELECT ${courseColumns} FROM courses course ${joinProgress('$2')}
      WHERE ${visibleCourse} ORDER BY course.created_at DESC, course.id DESC LIMIT ${limit} OFFSET ${offset}`,
    parameters,
  );
  return { rows: rows.map(presentCourse), total: total?.total ?? 0 };
}

/** @throws DomainError not_found, alike for whatever the student cannot take */
export async function openCourse(
  db: Queries,
  reader: Reader,
  publicId: string,
  now: Date,
): Promise<ClassroomCourseOutline> {
  const [row] = await db.query<(CourseRow & Pick<ClassroomCourseOutline, 'modules'>)[]>(
    `SELECT ${courseColumns}, ${outline} AS modules FROM courses course ${joinProgress('$2')}
      WHERE ${visibleCourse} AND course.public_id = $4`,
    [reader.clubId, reader.id, now, publicId],
  );
  if (!row) throw notFound('course');
  return { ...presentCourse(row), modules: row.modules };
}

/** The progress of a student in a course that they see. @throws Error where they do not: the caller has just looked */
export async function readProgress(tx: Transaction, reader: Reader, courseId: Id, now: Date): Promise<ClassroomCourse> {
  const [row] = await tx.query<CourseRow[]>(
    `SELECT ${courseColumns} FROM courses course ${joinProgress('$2')} WHERE ${visibleCourse} AND course.id = $4`,
    [reader.clubId, reader.id, now, courseId],
  );
  if (!row) throw new Error('A course vanished inside a transaction that holds it');
  return presentCourse(row);
}

/** @throws DomainError not_found, alike for whatever the student cannot take */
export async function findVisibleLesson(
  db: Queries,
  reader: Reader,
  publicId: string,
  now: Date,
): Promise<VisibleLesson> {
  const [row] = await db.query<VisibleLesson[]>(
    `SELECT lesson.id, lesson.public_id AS "publicId", lesson.title, lesson.content, lesson.points, course.id AS "courseId",
            course.public_id AS "coursePublicId", course.title AS "courseTitle",
            CASE WHEN progress.completed THEN progress.first_completed_at END AS "completedAt"
       FROM lessons lesson JOIN courses course ON course.id = lesson.course_id
       LEFT JOIN lesson_progress progress ON progress.lesson_id = lesson.id AND progress.student_id = $2
      WHERE ${visibleCourse} AND lesson.club_id = $1 AND lesson.public_id = $4 AND lesson.published_at IS NOT NULL`,
    [reader.clubId, reader.id, now, publicId],
  );
  if (!row) throw noLesson();
  return row;
}

/**
 * Like `findVisibleLesson`, with a shared lock on the lesson's course: unpublishing or removing any part of it waits until
 * the transaction ends. The caller locks the student first, so that access stays as well.
 * @throws DomainError not_found
 */
export async function lockVisibleLessonForShare(
  tx: Transaction,
  reader: Reader,
  publicId: string,
  now: Date,
): Promise<VisibleLesson> {
  const held = await tx.one<{ id: Id }>(sql`SELECT id FROM courses
      WHERE id = (SELECT course_id FROM lessons WHERE club_id = ${reader.clubId} AND public_id = ${publicId}) FOR SHARE`);
  const lesson = await findVisibleLesson(tx, reader, publicId, now);
  // Before it was held, the public id can have gone to a lesson of another course: that one was not what was asked for.
  if (lesson.courseId !== held?.id) throw noLesson();
  return lesson;
}

const noLesson = () => notFound('lesson');

/** @throws DomainError not_found, alike for whatever the student cannot take */
export async function openLesson(
  db: Queries,
  reader: Reader,
  publicId: string,
  now: Date,
): Promise<RecordOf<'ClassroomLesson'>> {
  return presentVisibleLesson(await findVisibleLesson(db, reader, publicId, now));
}

function presentVisibleLesson(lesson: VisibleLesson): RecordOf<'ClassroomLesson'> {
  return {
    id: lesson.id,
    public_id: lesson.publicId,
    title: lesson.title,
    content: lesson.content,
    points: lesson.points,
    completed: lesson.completedAt !== null,
    ...(lesson.completedAt !== null && { completed_at: lesson.completedAt.toISOString() }),
    course: { id: lesson.courseId, public_id: lesson.coursePublicId, title: lesson.courseTitle },
  };
}

function presentCourse(row: CourseRow): ClassroomCourse {
  return {
    id: row.id,
    public_id: row.publicId,
    title: row.title,
    description: row.description,
    ...(row.hours !== null && { hours: row.hours }),
    lesson_count: row.lessonCount,
    completed_lesson_count: row.completedLessonCount,
    ...(row.completedAt !== null && { completed_at: row.completedAt.toISOString() }),
  };
}
