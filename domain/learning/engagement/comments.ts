/** Students' comments on lessons, and their moderation. */
import { Student } from '../../../entities/identity/student.ts';
import { LessonComment } from '../../../entities/learning/lesson-comment.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import type { Database, Queries } from '../../../platform/infra/postgres/database.ts';
import { columns, sql, type RowOf } from '../../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../../deps.ts';
import { notFound } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { newestFirst } from '../../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import { lockStudent } from '../../identity/accounts/accounts.ts';
import { avatarOf } from '../../identity/avatars.ts';
import { findVisibleLesson, lockVisibleLessonForShare } from '../courses/classroom.ts';
import type { Reader } from '../../identity/student-ref.ts';
import type { MediaDeps } from '../../media/media.ts';
import { findLesson } from '../courses/lessons.ts';

type ClassroomComment = RecordOf<'ClassroomComment'>;

/** The comments of a removed student are deleted, so each author has an e-mail address. */
const commentColumns = columns(LessonComment, ['id', 'body', 'studentId', 'createdAt'], 'comment').and<
  Pick<Student, 'name' | 'avatarKey'> & { email: string }
>(columns(Student, ['name', 'email', 'avatarKey'], 'student'));
type CommentRow = RowOf<typeof commentColumns>;
const commentsWithAuthor = sql`FROM lesson_comments comment JOIN students student ON student.id = comment.student_id`;

/** @throws DomainError not_found if the student does not see the lesson */
export async function publishComment(
  { db, storage }: MediaDeps,
  reader: Reader,
  publicId: string,
  body: string,
  now: Date,
): Promise<ClassroomComment> {
  const id = newId();
  return db.transaction(async (tx) => {
    await lockStudent(tx, reader.clubId, reader.id);
    const lesson = await lockVisibleLessonForShare(tx, reader, publicId, now);
    await tx.manager.insert(LessonComment, {
      id,
      clubId: reader.clubId,
      lessonId: lesson.id,
      studentId: reader.id,
      body,
      createdAt: now,
    });
    const row = await tx.one<CommentRow>(sql`SELECT ${commentColumns} ${commentsWithAuthor} WHERE comment.id = ${id}`);
    if (!row) throw new Error('A comment vanished inside the transaction that wrote it');
    return presentToStudent(storage, row, reader);
  });
}

/** @returns a page of the lesson's comments, newest first @throws DomainError not_found if the student does not see the lesson */
export async function listVisibleComments(
  db: Queries,
  storage: ObjectStore,
  reader: Reader,
  publicId: string,
  page: PageRequest,
  now: Date,
): Promise<Page<ClassroomComment>> {
  const lesson = await findVisibleLesson(db, reader, publicId, now);
  const { rows, total, next } = await commentsOf(db, lesson.id, page);
  return { rows: await Promise.all(rows.map((row) => presentToStudent(storage, row, reader))), total, next };
}

/** @returns a page of the lesson's comments, newest first @throws DomainError not_found */
export async function listComments(
  db: Queries,
  clubId: Id,
  lessonId: Id,
  page: PageRequest,
): Promise<Page<RecordOf<'LessonComment'>>> {
  await findLesson(db, clubId, lessonId);
  const { rows, total, next } = await commentsOf(db, lessonId, page);
  return {
    rows: rows.map(({ id, body, studentId, name, email, createdAt }) => ({
      id,
      body,
      student: { id: studentId, name, email },
      created_at: createdAt.toISOString(),
    })),
    total,
    next,
  };
}

function commentsOf(db: Queries, lessonId: Id, page: PageRequest): Promise<Page<CommentRow>> {
  return listPage(db, page, {
    columns: commentColumns,
    from: sql`${commentsWithAuthor} WHERE comment.lesson_id = ${lessonId}`,
    counted: sql`FROM lesson_comments WHERE lesson_id = ${lessonId}`,
    orderBy: newestFirst('comment'),
  });
}

/**
 * Deletes a student's own comment, even after access to the lesson has ended.
 * @throws DomainError not_found
 */
export async function deleteOwnComment({ db }: DatabaseDeps, reader: Reader, commentId: Id): Promise<void> {
  await deleteOne(db, { id: commentId, clubId: reader.clubId, studentId: reader.id });
}

/** @throws DomainError not_found, also for a comment of another club */
export async function deleteComment({ db }: DatabaseDeps, clubId: Id, commentId: Id): Promise<void> {
  await deleteOne(db, { id: commentId, clubId });
}

async function deleteOne(db: Database, comment: { id: Id; clubId: Id; studentId?: Id }): Promise<void> {
  await db.transaction(async (tx) => {
    const { affected } = await tx.manager.delete(LessonComment, comment);
    if (affected === 0) throw notFound('comment');
  });
}

async function presentToStudent(storage: ObjectStore, row: CommentRow, reader: Reader): Promise<ClassroomComment> {
  return {
    id: row.id,
    body: row.body,
    author: { name: row.name, ...(await avatarOf(storage, row.avatarKey)) },
    own: row.studentId === reader.id,
    created_at: row.createdAt.toISOString(),
  };
}
