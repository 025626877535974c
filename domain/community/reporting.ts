/** Students report posts and comments that they read (COMM-14). */
import type { RecordOf } from '../../contract/contract.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { DatabaseDeps } from '../deps.ts';
import { lockStudent } from '../identity/accounts.ts';
import type { Reader } from '../identity/student-ref.ts';
import { findVisibleComment, type CommentRef } from './comments.ts';
import { findVisiblePost } from './posts.ts';
import { insertReport } from './reports.ts';

/** @throws DomainError not_found, not_entitled (no access), already_reported */
export async function reportPost(
  { db }: DatabaseDeps,
  reader: Reader,
  publicId: string,
  reason: string | undefined,
  now: Date,
): Promise<RecordOf<'SentReport'>> {
  return db.transaction(async (tx) => {
    await lockStudent(tx, reader.clubId, reader.id);
    const post = await findVisiblePost(tx, { kind: 'student', ...refOf(reader) }, publicId, now);
    return insertReport(tx, { clubId: reader.clubId, studentId: reader.id }, { postId: post.id }, reason, now);
  });
}

/** @throws DomainError not_found, not_entitled (no access), already_reported */
export async function reportComment(
  { db }: DatabaseDeps,
  reader: Reader,
  ref: CommentRef,
  reason: string | undefined,
  now: Date,
): Promise<RecordOf<'SentReport'>> {
  return db.transaction(async (tx) => {
    await lockStudent(tx, reader.clubId, reader.id);
    const { post, comment } = await findVisibleComment(tx, { kind: 'student', ...refOf(reader) }, ref, now);
    const reported = { postId: post.id, commentId: comment.id };
    return insertReport(tx, { clubId: reader.clubId, studentId: reader.id }, reported, reason, now);
  });
}

const refOf = ({ clubId, id }: Reader): { clubId: Id; id: Id } => ({ clubId, id });
