/** Lets students report posts and comments that they can read (COMM-14). */
import type { RecordOf } from '../../contract/contract.ts';
import { notFound } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../deps.ts';
import { lockStudent } from '../identity/accounts/accounts.ts';
import type { Reader } from '../identity/student-ref.ts';
import { findVisibleComment, type CommentRef } from './comments.ts';
import { findVisiblePost } from './posts.ts';
import { insertReport } from './reports.ts';

/**
 * The SQL clause that locks the post, so that a report and a deletion of the post run one after the other. A deletion closes the earlier
 * reports. A report after the deletion finds no post. The deletion of a comment also locks the post, so this lock is enough for comments,
 * too.
 */
const undeleted = sql`FOR SHARE OF written`;

/** @throws DomainError not_found, not_entitled (the student has no access), already_reported */
export async function reportPost(
  { db }: DatabaseDeps,
  reader: Reader,
  publicId: string,
  reason: string | undefined,
  now: Date,
): Promise<RecordOf<'SentReport'>> {
  return db.transaction(async (tx) => {
    await lockStudent(tx, reader.clubId, reader.id);
    const post = await findVisiblePost(tx, { kind: 'student', ...refOf(reader) }, publicId, now, undeleted);
    if (post.state !== 'published') throw notFound('post');
    return insertReport(tx, { clubId: reader.clubId, studentId: reader.id }, { postId: post.id }, reason, now);
  });
}

/** @throws DomainError not_found, not_entitled (the student has no access), already_reported */
export async function reportComment(
  { db }: DatabaseDeps,
  reader: Reader,
  ref: CommentRef,
  reason: string | undefined,
  now: Date,
): Promise<RecordOf<'SentReport'>> {
  return db.transaction(async (tx) => {
    await lockStudent(tx, reader.clubId, reader.id);
    const { post, comment } = await findVisibleComment(tx, { kind: 'student', ...refOf(reader) }, ref, now, undeleted);
    if (comment.state !== 'published') throw notFound('comment');
    const reported = { postId: post.id, commentId: comment.id };
    return insertReport(tx, { clubId: reader.clubId, studentId: reader.id }, reported, reason, now);
  });
}

const refOf = ({ clubId, id }: Reader): { clubId: Id; id: Id } => ({ clubId, id });
