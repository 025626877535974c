/**
 * Courses and lessons as a student sees them: only published courses and lessons to which the student has access now. The answer is the
 * same for an unpublished, an inaccessible and an unknown course or lesson.
 */
import { Course } from '../../../entities/learning/course.ts';
import { Lesson } from '../../../entities/learning/lesson.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import { hasAccessToCourse } from '../../access/enrollments/entitlement.ts';
import type { Transaction, Queries } from '../../../platform/infra/postgres/database.ts';
import { columns, sql, type RowOf, type Sql } from '../../../platform/infra/postgres/sql.ts';
import { mediaIdsIn } from '../../media/uses/mentions.policy.ts';
import { presentUsed } from '../../media/uses/presentation.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import { notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { newestFirst } from '../../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import { joinProgress, progressColumns, type Progress } from './progress.ts';
import type { Reader } from '../../identity/student-ref.ts';

type ClassroomCourse = RecordOf<'ClassroomCourse'>;
type ClassroomCourseOutline = RecordOf<'ClassroomCourseOutline'>;

/** A condition on `courses course`. It is true if the student sees the course. */
const visibleTo = ({ clubId, id }: Reader, now: Date) => sql`course.club_id = ${clubId} AND course.status = 'published'
  AND ${hasAccessToCourse(sql`course.id`, id, now)}`;

const courseColumns = columns(Course, ['id', 'publicId', 'title', 'description', 'hours'], 'course').and<Progress>(
  progressColumns,
);
type CourseRow = RowOf<typeof courseColumns>;

const lessonColumns = columns(Lesson, ['id', 'publicId', 'title', 'content', 'points'], 'lesson')
  .and(columns(Course, { courseId: 'id', coursePublicId: 'publicId', courseTitle: 'title' }, 'course'))
  .and<{
    /** The time of the first completion; null if the lesson is not completed now. */
    completedAt: Date | null;
  }>(sql`CASE WHEN progress.completed THEN progress.first_completed_at END AS "completedAt"`);
export type VisibleLesson = RowOf<typeof lessonColumns>;

const outlineFor = (studentId: Id): Sql => sql`(
  SELECT coalesce(jsonb_agg(jsonb_build_object('id', module.id, 'title', module.title, 'lessons', part.lessons)
                            ORDER BY module.position, module.id), '[]')
    FROM modules module CROSS JOIN LATERAL (
      SELECT jsonb_agg(jsonb_build_object('id', lesson.id, 'public_id', lesson.public_id, 'title', lesson.title,
               'completed', coalesce(progress.completed, false)) ORDER BY lesson.position, lesson.id) AS lessons
        FROM lessons lesson LEFT JOIN lesson_progress progress ON progress.lesson_id = lesson.id AND progress.student_id = ${studentId}
       WHERE lesson.module_id = module.id AND lesson.published_at IS NOT NULL) part
   WHERE module.course_id = course.id AND part.lessons IS NOT NULL)`;

/** @returns a page of the courses that the student can take, newest first */
export async function listCourses(
  db: Queries,
  reader: Reader,
  page: PageRequest,
  now: Date,
): Promise<Page<ClassroomCourse>> {
  const visible = visibleTo(reader, now);
  const { rows, total, next } = await listPage(db, page, {
    columns: courseColumns,
    from: sql`FROM courses course ${joinProgress(reader.id)} WHERE ${visible}`,
    counted: sql`FROM courses course WHERE ${visible}`,
    orderBy: newestFirst('course'),
  });
  return { rows: rows.map(presentCourse), total, next };
}

/** @throws DomainError not_found: the same answer for all courses that the student cannot take */
export async function openCourse(
  db: Queries,
  reader: Reader,
  publicId: string,
  now: Date,
): Promise<ClassroomCourseOutline> {
  const row = await db.one<CourseRow & Pick<ClassroomCourseOutline, 'modules'>>(
    sql`SELECT ${courseColumns}, ${outlineFor(reader.id)} AS modules FROM courses course ${joinProgress(reader.id)}
         WHERE ${visibleTo(reader, now)} AND course.public_id = ${publicId}`,
  );
  if (!row) throw notFound('course');
  return { ...presentCourse(row), modules: row.modules };
}

/** A course that the student sees, with the student's progress. */
export type VisibleCourse = CourseRow;

/** @returns undefined if the student does not see the course */
export async function findVisibleCourse(
  db: Queries,
  reader: Reader,
  courseId: Id,
  now: Date,
): Promise<VisibleCourse | undefined> {
  return db.one<CourseRow>(
    sql`SELECT ${courseColumns} FROM courses course ${joinProgress(reader.id)}
         WHERE ${visibleTo(reader, now)} AND course.id = ${courseId}`,
  );
}

/** @throws DomainError not_found: the same answer for all lessons that the student cannot take */
export async function findVisibleLesson(
  db: Queries,
  reader: Reader,
  publicId: string,
  now: Date,
): Promise<VisibleLesson> {
  const row = await db.one<VisibleLesson>(
    sql`SELECT ${lessonColumns}
          FROM lessons lesson JOIN courses course ON course.id = lesson.course_id
          LEFT JOIN lesson_progress progress ON progress.lesson_id = lesson.id AND progress.student_id = ${reader.id}
         WHERE ${visibleTo(reader, now)} AND lesson.club_id = ${reader.clubId} AND lesson.public_id = ${publicId}
           AND lesson.published_at IS NOT NULL`,
  );
  if (!row) throw noLesson();
  return row;
}

/**
 * Finds a lesson like `findVisibleLesson`, and takes a shared lock on the lesson's course. So no other transaction can unpublish or remove
 * a part of the course. The caller locks the student first, so that the student's access cannot change either.
 * @throws DomainError not_found
 */
export async function lockVisibleLessonForShare(
  tx: Transaction,
  reader: Reader,
  publicId: string,
  now: Date,
): Promise<VisibleLesson> {
  const lockedCourse = await tx.one<{ id: Id }>(sql`SELECT id FROM courses
      WHERE id = (SELECT course_id FROM lessons WHERE club_id = ${reader.clubId} AND public_id = ${publicId}) FOR SHARE`);
  const lesson = await findVisibleLesson(tx, reader, publicId, now);
  // Before this transaction locked the course, an administrator may have given the public id to a lesson of a different course. The caller
  // did not ask for that lesson, so the answer is 404.
  if (lesson.courseId !== lockedCourse?.id) throw noLesson();
  return lesson;
}

const noLesson = () => notFound('lesson');

/**
 * @returns the lesson, with the files in its content, in their order
 * @throws DomainError not_found: the same answer for all lessons that the student cannot take
 */
export async function openLesson(
  db: Queries,
  storage: ObjectStore,
  reader: Reader,
  publicId: string,
  now: Date,
): Promise<RecordOf<'ClassroomLesson'>> {
  const lesson = await findVisibleLesson(db, reader, publicId, now);
  const usedFiles = (await presentUsed(db, storage, 'lesson', [lesson.id])).get(lesson.id) ?? [];
  const media = mediaIdsIn(lesson.content).flatMap((id) => usedFiles.find((file) => file.id === id) ?? []);
  return presentVisibleLesson(lesson, media);
}

function presentVisibleLesson(lesson: VisibleLesson, media: RecordOf<'Media'>[]): RecordOf<'ClassroomLesson'> {
  return {
    id: lesson.id,
    public_id: lesson.publicId,
    title: lesson.title,
    content: lesson.content,
    points: lesson.points,
    completed: lesson.completedAt !== null,
    ...(lesson.completedAt !== null && { completed_at: lesson.completedAt.toISOString() }),
    course: { id: lesson.courseId, public_id: lesson.coursePublicId, title: lesson.courseTitle },
    media,
  };
}

export function presentCourse(row: VisibleCourse): ClassroomCourse {
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
