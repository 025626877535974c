/** Lets administrators create, list, read, change and order a club's courses. */
import { Course } from '../../../entities/learning/course.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import { syncSources } from '../../knowledge/sources.ts';
import type { CourseStatus } from '../../../entities/learning/values.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { all, columns, given, sql, type RowOf } from '../../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../../deps.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { newestFirst } from '../../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import { tidyName } from '../../../platform/core/text/text.policy.ts';
import { setCover } from '../../media/uses/covers.ts';
import { judgeCourseLater } from '../../watches/completions.ts';
import { insertWithPublicId, refusalOf } from '../../../platform/infra/postgres/public-ids.ts';

type CourseRecord = RecordOf<'Course'>;
type CourseOutline = RecordOf<'CourseOutline'>;

/** The maximum number of modules and lessons of a course, so that its outline and a request for a new order stay small. */
export const maxModules = 100;
export const maxLessons = 500;

export const courseFull = (message: string) => new DomainError('course_full', message);

const courseColumns = columns(
  Course,
  [
    'id',
    'publicId',
    'title',
    'description',
    'status',
    'hours',
    'certificateOnCompletion',
    'createdAt',
    'updatedAt',
    'publishedAt',
  ],
  'course',
).and<{ lessonCount: number; publishedLessonCount: number }>(
  sql`counted.lessons AS "lessonCount", counted.published AS "publishedLessonCount"`,
);
type CourseRow = RowOf<typeof courseColumns>;

const coursesWithCounts = sql`FROM courses course CROSS JOIN LATERAL (
  SELECT count(*)::int AS lessons, count(published_at)::int AS published FROM lessons
   WHERE course_id = course.id AND removed_at IS NULL) counted`;

/** A removed lesson is in no module. One statement reads the course and the outline, so that both come from one snapshot. */
const outline = sql`(
  SELECT coalesce(jsonb_agg(jsonb_build_object('id', module.id, 'title', module.title, 'lessons', (
           SELECT coalesce(jsonb_agg(jsonb_build_object('id', lesson.id, 'public_id', lesson.public_id, 'title', lesson.title,
                    'points', lesson.points, 'published', lesson.published_at IS NOT NULL) ORDER BY lesson.position, lesson.id), '[]')
             FROM lessons lesson WHERE lesson.module_id = module.id)) ORDER BY module.position, module.id), '[]')
    FROM modules module WHERE module.course_id = course.id)`;

/**
 * Creates a draft.
 * @throws DomainError public_id_taken, not_found (no such cover), media_archived, invalid_request (the cover is not an image)
 */
export async function createCourse(
  { db }: DatabaseDeps,
  clubId: Id,
  input: RecordOf<'CourseCreation'>,
  now: Date,
): Promise<CourseOutline> {
  const id = newId();
  return db.transaction(async (tx) => {
    await insertWithPublicId('course', input, async (publicId) => {
      const rows =
        await tx.rows(sql`INSERT INTO courses (id, club_id, public_id, title, description, status, hours, certificate_on_completion, created_at, updated_at)
         VALUES (${id}, ${clubId}, ${publicId}, ${tidyName(input.title)}, ${input.description ?? ''}, 'draft', nullif(${input.hours ?? null}::int, 0), ${input.certificate_on_completion ?? false}, ${now}, ${now})
         ON CONFLICT (club_id, public_id) DO NOTHING RETURNING 1`);
      return rows.length > 0;
    });
    if (input.cover_media_id !== undefined) await setCover(tx, clubId, { kind: 'course', id }, input.cover_media_id);
    return findCourse(tx, clubId, id);
  });
}

/** @returns a page of the club's courses, newest first */
export async function listCourses(
  db: Queries,
  clubId: Id,
  filter: PageRequest & { status?: CourseStatus },
): Promise<Page<CourseRecord>> {
  const condition = all([
    sql`course.club_id = ${clubId}`,
    filter.status === undefined ? undefined : sql`course.status = ${filter.status}`,
  ]);
  const { rows, total, next } = await listPage(db, filter, {
    columns: courseColumns,
    from: sql`${coursesWithCounts} WHERE ${condition}`,
    counted: sql`FROM courses course WHERE ${condition}`,
    changedAt: 'course.changed_at',
    orderBy: newestFirst('course'),
  });
  return { rows: rows.map(presentCourse), total, next };
}

/** @returns the course with its whole outline @throws DomainError not_found, also for a course of another club */
export async function findCourse(db: Queries, clubId: Id, courseId: Id): Promise<CourseOutline> {
  const row = await db.one<CourseRow & Pick<CourseOutline, 'modules'>>(
    sql`SELECT ${courseColumns}, ${outline} AS modules ${coursesWithCounts} WHERE course.id = ${courseId} AND course.club_id = ${clubId}`,
  );
  if (!row) throw notFound('course');
  return { ...presentCourse(row), modules: row.modules };
}

/**
 * Locks the course's row until the transaction ends. So all changes of the course, its modules and its lessons run one after another. A
 * change also waits for every transaction that checks a completion, because that transaction holds a shared lock on the course.
 * @returns the course as read after the lock
 * @throws DomainError not_found
 */
export async function lockCourse(
  tx: Transaction,
  clubId: Id,
  courseId: Id,
): Promise<{ title: string; status: CourseStatus }> {
  const course = await tx.one<{ title: string; status: CourseStatus }>(
    sql`SELECT title, status FROM courses WHERE id = ${courseId} AND club_id = ${clubId} FOR NO KEY UPDATE`,
  );
  if (!course) throw notFound('course');
  return course;
}

/**
 * Changes the given fields.
 * @param input.hours 0 removes the hours
 * @throws DomainError not_found (also if the cover does not exist), public_id_taken, media_archived, invalid_request (the cover is not an
 *   image)
 */
export async function updateCourse(
  { db }: DatabaseDeps,
  clubId: Id,
  courseId: Id,
  input: RecordOf<'CourseChange'>,
  now: Date,
): Promise<CourseOutline> {
  return db.transaction(async (tx) => {
    const before = await lockCourse(tx, clubId, courseId);
    const change = given({
      title: input.title === undefined ? undefined : tidyName(input.title),
      description: input.description,
      publicId: input.public_id,
      hours: input.hours === 0 ? null : input.hours,
      certificateOnCompletion: input.certificate_on_completion,
      status: input.status,
      publishedAt: input.status === 'published' && before.status !== 'published' ? now : undefined,
      updatedAt: now,
    });
    await tx.manager.update(Course, { id: courseId }, change).catch((error: unknown) => {
      throw refusalOf(error, 'course');
    });
    if (input.cover_media_id !== undefined)
      await setCover(tx, clubId, { kind: 'course', id: courseId }, input.cover_media_id);
    const after = await findCourse(tx, clubId, courseId);
    const contentChanged = after.title !== before.title; // the passages of a lesson contain the title of its course
    if (after.status === 'published' && before.status !== 'published')
      await judgeCourseLater(tx, { clubId, courseId }, now); // lessons may have been withdrawn while the course was not published
    if (contentChanged || after.status !== before.status)
      await syncSources(tx, clubId, { courseIds: [courseId], contentChanged }, now);
    return after;
  });
}

/**
 * Puts the modules and lessons of a course in a new order. A lesson may move into another module of the course.
 * @throws DomainError not_found; invalid_request if the order does not name every module and lesson of the course exactly once
 */
export async function orderCourse(
  { db }: DatabaseDeps,
  clubId: Id,
  courseId: Id,
  { modules }: RecordOf<'CourseOrder'>,
  now: Date,
): Promise<CourseOutline> {
  const order = modules.map(({ id, lesson_ids: lessonIds }) => ({
    id: id.toLowerCase(),
    lessonIds: lessonIds.map((lessonId) => lessonId.toLowerCase()),
  }));
  return db.transaction(async (tx) => {
    await lockCourse(tx, clubId, courseId);
    const present = await findCourse(tx, clubId, courseId);
    const idsOf = (records: readonly { id: Id }[]) => records.map(({ id }) => id);
    requireAll('modules', idsOf(present.modules), idsOf(order));
    const lessonIds = order.flatMap((module) => module.lessonIds);
    requireAll('lessons', idsOf(present.modules.flatMap(({ lessons }) => lessons)), lessonIds);
    await tx.run(
      sql`UPDATE modules SET position = place FROM unnest(${idsOf(order)}::uuid[]) WITH ORDINALITY AS asked (id, place) WHERE modules.id = asked.id`,
    );
    await tx.run(sql`UPDATE lessons SET position = place, module_id = asked.module_id
         FROM unnest(${lessonIds}::uuid[], ${order.flatMap((module) => module.lessonIds.map(() => module.id))}::uuid[]) WITH ORDINALITY AS asked (id, module_id, place) WHERE lessons.id = asked.id`);
    await tx.manager.update(Course, { id: courseId }, { updatedAt: now });
    return findCourse(tx, clubId, courseId);
  });
}

function requireAll(what: 'modules' | 'lessons', present: readonly Id[], requestedIds: readonly Id[]): void {
  const named = new Set(requestedIds);
  if (requestedIds.length !== present.length || present.some((id) => !named.has(id)))
    throw new DomainError(
      'invalid_request',
      `modules: every one of the course's ${what} must be named once, and no other.`,
    );
}

function presentCourse(row: CourseRow): CourseRecord {
  return {
    id: row.id,
    public_id: row.publicId,
    title: row.title,
    description: row.description,
    status: row.status,
    ...(row.hours !== null && { hours: row.hours }),
    certificate_on_completion: row.certificateOnCompletion,
    lesson_count: row.lessonCount,
    published_lesson_count: row.publishedLessonCount,
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
    ...(row.publishedAt !== null && { published_at: row.publishedAt.toISOString() }),
  };
}
