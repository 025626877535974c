/** Lets administrators create, read, change and remove the lessons of a course. Each change locks the course. */
import { Lesson } from '../../../entities/learning/lesson.ts';
import { LessonComment } from '../../../entities/learning/lesson-comment.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import { judgeCourseLater } from '../../watches/completions.ts';
import { noteCourseChanged, requireUnnamed } from '../../watches/watches.ts';
import { mediaIdsIn, mostMentions } from '../../media/uses/mentions.policy.ts';
import { setUses } from '../../media/uses/uses.ts';
import { syncSources } from '../../knowledge/sources.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns, given, sql, type RowOf } from '../../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../../deps.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { tidyName } from '../../../platform/core/text/text.policy.ts';
import { courseFull, lockCourse, maxLessons } from './courses.ts';
import { lockModule } from './modules.ts';
import { insertWithPublicId, refusalOf } from '../../../platform/infra/postgres/public-ids.ts';

type LessonRecord = RecordOf<'Lesson'>;

/** Every lesson that was not removed is in a module. */
const lessonColumns = columns(Lesson, [
  'id',
  'publicId',
  'courseId',
  'title',
  'content',
  'points',
  'createdAt',
  'updatedAt',
  'publishedAt',
]).and<{ moduleId: Id }>(columns(Lesson, ['moduleId']));
type LessonRow = RowOf<typeof lessonColumns>;

/**
 * Adds a lesson at the end of the module.
 * @throws DomainError not_found (also if a file that the content names does not exist), media_archived, public_id_taken, course_full
 */
export async function createLesson(
  { db }: DatabaseDeps,
  clubId: Id,
  moduleId: Id,
  input: RecordOf<'LessonCreation'>,
  now: Date,
): Promise<LessonRecord> {
  const id = newId();
  return db.transaction(async (tx) => {
    const { courseId } = await lockModule(tx, clubId, moduleId);
    const present = await tx.one<{
      count: number;
      end: number;
    }>(sql`SELECT count(*)::int AS count, coalesce(max(position) FILTER (WHERE module_id = ${moduleId}) + 1, 0) AS "end"
         FROM lessons WHERE course_id = ${courseId} AND removed_at IS NULL`);
    if (present && present.count >= maxLessons) throw courseFull(`A course has at most ${maxLessons} lessons.`);
    await insertWithPublicId('lesson', input, async (publicId) => {
      const rows =
        await tx.rows(sql`INSERT INTO lessons (id, club_id, course_id, module_id, public_id, title, content, position, points, created_at, updated_at, published_at)
         VALUES (${id}, ${clubId}, ${courseId}, ${moduleId}, ${publicId}, ${tidyName(input.title)}, ${input.content ?? ''}, ${present?.end ?? 0}, ${input.points ?? 0}, ${now}, ${now}, ${input.published ? now : null})
         ON CONFLICT (club_id, public_id) DO NOTHING RETURNING 1`);
      return rows.length > 0;
    });
    await setUses(tx, clubId, { kind: 'lesson', id }, mentionedIn(input.content ?? ''));
    if (input.published) {
      await noteCourseChanged(tx, courseId, now);
      await syncSources(tx, clubId, { lessonIds: [id] }, now);
    }
    return findLesson(tx, clubId, id);
  });
}

/** @throws DomainError not_found, also for a lesson of another club and for a removed lesson */
export async function findLesson(db: Queries, clubId: Id, lessonId: Id): Promise<LessonRecord> {
  return presentLesson(await findRow(db, clubId, lessonId));
}

/**
 * Changes the given fields. The content may name a deleted file only if the earlier content named it too.
 * @throws DomainError not_found (also if a file that the content names does not exist), media_archived, public_id_taken
 */
export async function updateLesson(
  { db }: DatabaseDeps,
  clubId: Id,
  lessonId: Id,
  input: RecordOf<'LessonChange'>,
  now: Date,
): Promise<LessonRecord> {
  return db.transaction(async (tx) => {
    const before = await lockLesson(tx, clubId, lessonId);
    const change = given({
      title: input.title === undefined ? undefined : tidyName(input.title),
      content: input.content,
      publicId: input.public_id,
      points: input.points,
      publishedAt: input.published === undefined ? undefined : input.published ? (before.publishedAt ?? now) : null,
      updatedAt: now,
    });
    await tx.manager.update(Lesson, { id: lessonId }, change).catch((error: unknown) => {
      throw refusalOf(error, 'lesson');
    });
    if (input.content !== undefined)
      await setUses(tx, clubId, { kind: 'lesson', id: lessonId }, mentionedIn(input.content), {
        mayBeGone: mediaIdsIn(before.content),
      });
    const after = await findRow(tx, clubId, lessonId);
    const isWithdrawn = before.publishedAt !== null && after.publishedAt === null;
    const isPublishedNow = before.publishedAt === null && after.publishedAt !== null;
    if (isWithdrawn || isPublishedNow) await noteCourseChanged(tx, after.courseId, now);
    if (isWithdrawn || (isPublishedNow && (await isOnlyPublished(tx, after))))
      await judgeCourseLater(tx, { clubId, courseId: after.courseId }, now);
    const contentChanged = after.content !== before.content;
    await syncSources(tx, clubId, { lessonIds: [lessonId], contentChanged }, now);
    return presentLesson(after);
  });
}

/**
 * Without another published lesson, the course had none before. So students who completed this lesson earlier may now have completed the
 * course. The caller has locked the course, so that concurrent changes of its lessons are visible.
 */
async function isOnlyPublished(tx: Transaction, { id, courseId }: Pick<Lesson, 'id' | 'courseId'>): Promise<boolean> {
  const other = await tx.one(
    sql`SELECT 1 FROM lessons WHERE course_id = ${courseId} AND published_at IS NOT NULL AND id <> ${id} LIMIT 1`,
  );
  return other === undefined;
}

/**
 * Removes a lesson and its comments from its course. The row and its `public_id` stay, because events name them.
 * @throws DomainError not_found, in_use (an automation names the lesson)
 */
export async function removeLesson({ db }: DatabaseDeps, clubId: Id, lessonId: Id, now: Date): Promise<void> {
  await db.transaction(async (tx) => {
    const { courseId, publishedAt } = await lockLesson(tx, clubId, lessonId);
    // Also locks the lesson, because a transaction that publishes an automation with this lesson locks only the lesson, and not its course.
    // This lock does not block inserts of foreign keys to the lesson. A stricter lock could cause a deadlock: an update of the search index
    // inserts such keys while it holds the club's lock, and this function later waits for the club's lock.
    await tx.run(sql`SELECT FROM lessons WHERE id = ${lessonId} FOR NO KEY UPDATE`);
    await requireUnnamed(tx, 'lesson', lessonId);
    if (publishedAt !== null) await noteCourseChanged(tx, courseId, now);
    await tx.manager.update(
      Lesson,
      { id: lessonId },
      { removedAt: now, updatedAt: now, moduleId: null, publishedAt: null },
    );
    if (publishedAt !== null) await judgeCourseLater(tx, { clubId, courseId }, now);
    await tx.manager.delete(LessonComment, { lessonId });
    await setUses(tx, clubId, { kind: 'lesson', id: lessonId }, []);
    await syncSources(tx, clubId, { lessonIds: [lessonId] }, now);
  });
}

/** @returns the files in a lesson's content @throws DomainError invalid_request (the content names too many files) */
function mentionedIn(content: string): Id[] {
  const ids = mediaIdsIn(content);
  if (ids.length > mostMentions)
    throw new DomainError('invalid_request', `content: a lesson names at most ${mostMentions} files.`);
  return ids;
}

/** Locks the lesson's course, then reads the lesson. @throws DomainError not_found, also for a lesson that was removed before the lock */
export async function lockLesson(tx: Transaction, clubId: Id, lessonId: Id): Promise<LessonRow> {
  const { courseId } = await findRow(tx, clubId, lessonId);
  await lockCourse(tx, clubId, courseId);
  return findRow(tx, clubId, lessonId);
}

async function findRow(db: Queries, clubId: Id, lessonId: Id): Promise<LessonRow> {
  const row = await db.one<LessonRow>(
    sql`SELECT ${lessonColumns} FROM lessons WHERE id = ${lessonId} AND club_id = ${clubId} AND removed_at IS NULL`,
  );
  if (!row) throw notFound('lesson');
  return row;
}

function presentLesson(row: LessonRow): LessonRecord {
  return {
    id: row.id,
    public_id: row.publicId,
    course_id: row.courseId,
    module_id: row.moduleId,
    title: row.title,
    content: row.content,
    points: row.points,
    published: row.publishedAt !== null,
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
    ...(row.publishedAt !== null && { published_at: row.publishedAt.toISOString() }),
  };
}
