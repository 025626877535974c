/** Publishes, lists, changes and deletes comments on posts, and replies to comments. A reply cannot have replies (COMM-11). */
import { CommunityComment } from '../../entities/community/community-comment.ts';
import type { ReactionKind } from '../../entities/community/values.ts';
import type { RecordOf } from '../../contract/contract.ts';
import { DomainError, notFound } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { ObjectStore } from '../../platform/infra/store/object-store.ts';
import type { Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { countListed } from '../../platform/infra/postgres/lists/counts.ts';
import { ascending } from '../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../platform/infra/postgres/lists/page.ts';
import { columns, sql, type RowOf, type Sql } from '../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../deps.ts';
import type { MediaDeps } from '../media/media.ts';
import { authorColumns, authors, presentAuthor, type AuthorRow } from './authors.ts';
import {
  chooseId,
  findVisiblePost,
  lockPost,
  lockPostForWriting,
  lockPostUnseen,
  written,
  type PostRow,
} from './posts.ts';
import { addReaction, reactionsTo, removeReaction } from './reactions.ts';
import { settleReports } from './reports.ts';
import { lockVoice, isOwn, isVisible, requireWriter, type Voice } from './voices.ts';
import { RefusalToPerson } from '../language/refusal.ts';

type CommentRecord = RecordOf<'CommunityComment'>;

const commentColumns = columns(
  CommunityComment,
  ['id', 'replyTo', 'body', 'state', 'hiddenAt', 'createdAt', 'editedAt'],
  'written',
).and<AuthorRow>(authorColumns);
const columnsFor = (voice: Voice) =>
  commentColumns.and<{ own: boolean }>(sql`coalesce(${isOwn(voice, written)}, false) AS own`);
type CommentRow = RowOf<ReturnType<typeof columnsFor>>;

const fromComments = sql`FROM community_comments written ${authors}`;

const postLocked = () => new RefusalToPerson('post_locked', 'refusal.post_locked');

/**
 * Publishes a comment, or a reply to a comment of the post. A repeated `id` publishes nothing more.
 * @throws DomainError not_found (also for `reply_to`), not_entitled, post_locked, post_exists, invalid_request (a reply to a reply)
 */
export async function publishComment(
  { db, storage }: MediaDeps,
  voice: Voice,
  publicId: string,
  input: RecordOf<'CommunityCommentCreation'>,
  now: Date,
): Promise<CommentRecord> {
  return db.transaction(async (tx) => {
    const post = await lockPostForWriting(tx, voice, publicId, now);
    if (post.state !== 'published' || (post.locked && voice.kind === 'student')) throw postLocked();
    if (input.reply_to !== undefined) await requireAnswerable(tx, voice, post, input.reply_to);
    const id = await chooseId(tx, input.id);
    await tx.run(sql`
      INSERT INTO community_comments (id, club_id, post_id, reply_to, student_id, administrator_id, body, created_at)
      VALUES (${id}, ${voice.clubId}, ${post.id}, ${input.reply_to ?? null}, ${voice.kind === 'student' ? voice.id : null},
        ${voice.kind === 'admin' ? voice.id : null}, ${input.body}, ${now})`);
    return readComment(tx, storage, voice, id);
  });
}

/**
 * Locks the comment that the reply answers, so that this comment is not deleted before the commit.
 * @throws DomainError not_found, invalid_request
 */
async function requireAnswerable(tx: Transaction, voice: Voice, post: PostRow, commentId: Id): Promise<void> {
  const answered = await findRow(tx, voice, post.id, commentId, sql`FOR SHARE OF written`);
  if (answered.state !== 'published') throw notFound('comment');
  if (answered.replyTo !== null)
    throw new DomainError(
      'invalid_request',
      'reply_to: this comment is a reply itself. Reply to the comment that it answers.',
    );
}

async function findRow(db: Queries, voice: Voice, postId: Id, commentId: Id, lock = sql``): Promise<CommentRow> {
  const row = await db.one<CommentRow>(sql`
    SELECT ${columnsFor(voice)} ${fromComments}
     WHERE written.id = ${commentId} AND written.post_id = ${postId} AND ${isVisible(voice, written)} ${lock}`);
  if (!row) throw notFound('comment');
  return row;
}

async function readComment(db: Queries, storage: ObjectStore, voice: Voice, id: Id): Promise<CommentRecord> {
  const row = await db.one<CommentRow>(sql`SELECT ${columnsFor(voice)} ${fromComments} WHERE written.id = ${id}`);
  const [comment] = row ? await presentComments(db, storage, voice, [row]) : [];
  if (!comment) throw notFound('comment');
  return comment;
}

/** @returns a page of the post's comments with their replies, the oldest first @throws DomainError not_found, not_entitled */
export async function listComments(
  db: Queries,
  storage: ObjectStore,
  voice: Voice,
  publicId: string,
  page: PageRequest,
  now: Date,
): Promise<Page<CommentRecord>> {
  const post = await findVisiblePost(db, voice, publicId, now);
  const { rows, total, next } = await listPage<CommentRow>(db, page, {
    columns: columnsFor(voice),
    from: sql`${fromComments} WHERE written.post_id = ${post.id} AND ${isVisible(voice, written)}`,
    orderBy: [ascending('written.created_at', 'timestamptz'), ascending('written.id', 'uuid')],
    total: async () => {
      const listed = { list: 'post_comments', clubId: voice.clubId, subjectId: post.id } as const;
      if (voice.kind === 'admin') return countListed(db, listed);
      const ownCount = await db.one<{ hidden: number }>(sql`
        SELECT count(*)::int AS hidden FROM community_comments
         WHERE post_id = ${post.id} AND student_id = ${voice.id} AND hidden_at IS NOT NULL AND state <> 'deleted'`);
      return (await countListed(db, { ...listed, marked: false })) + (ownCount?.hidden ?? 0);
    },
  });
  return { rows: await presentComments(db, storage, voice, rows), total, next };
}

export interface CommentRef {
  publicId: string;
  commentId: Id;
}

/**
 * Changes the text of a comment. Only the author may change a comment, and only while the author is a member.
 * @throws DomainError not_found, not_entitled, invalid_request
 */
export async function updateComment(
  { db, storage }: MediaDeps,
  voice: Voice,
  { publicId, commentId }: CommentRef,
  body: string,
  now: Date,
): Promise<CommentRecord> {
  return db.transaction(async (tx) => {
    const post = await lockPostForWriting(tx, voice, publicId, now);
    const comment = await findRow(tx, voice, post.id, commentId, sql`FOR NO KEY UPDATE OF written`);
    if (!comment.own) throw new RefusalToPerson('not_entitled', 'refusal.author_alone');
    if (comment.state !== 'published') throw notFound('comment');
    await tx.manager.update(CommunityComment, { id: comment.id }, { body, editedAt: now });
    return readComment(tx, storage, voice, comment.id);
  });
}

/**
 * Deletes a comment for its author. The author may always delete it, even after the author's access has ended.
 * @throws DomainError not_found, not_entitled
 */
export async function deleteComment(
  { db }: DatabaseDeps,
  voice: Voice,
  { publicId, commentId }: CommentRef,
  now: Date,
): Promise<void> {
  await db.transaction(async (tx) => {
    await lockVoice(tx, voice);
    // The lock of the post makes the deletion wait for a reply that is being written. A later reply finds the comment deleted.
    const post = await lockPostUnseen(tx, voice, publicId);
    const comment = await findRow(tx, voice, post.id, commentId, sql`FOR NO KEY UPDATE OF written`);
    if (!comment.own) {
      await findVisiblePost(tx, voice, publicId, now);
      throw new RefusalToPerson('not_entitled', 'refusal.author_alone');
    }
    await removeCommentBody(tx, comment, now);
  });
}

/** Removes the text of a comment. Lists still show it as deleted if it has replies. The caller holds the lock of the comment. */
export async function removeCommentBody(
  tx: Transaction,
  comment: Pick<CommentRow, 'id' | 'state'>,
  now: Date,
): Promise<void> {
  if (comment.state !== 'published') return;
  await tx.run(sql`
    UPDATE community_comments comment SET body = NULL, state = CASE WHEN ${hasReplies} THEN 'emptied' ELSE 'deleted' END
     WHERE comment.id = ${comment.id}`);
  await settleReports(tx, sql`target_id = ${comment.id}`, 'upheld', now);
}

const hasReplies = sql`EXISTS (
  SELECT FROM community_comments reply WHERE reply.reply_to = comment.id AND reply.state <> 'deleted')`;

/** Locks a comment and its post for moderation. @throws DomainError not_found */
export async function lockComment(
  tx: Transaction,
  voice: Voice,
  { publicId, commentId }: CommentRef,
): Promise<{ post: PostRow; comment: CommentRow }> {
  const post = await lockPost(tx, voice, publicId);
  return { post, comment: await findRow(tx, voice, post.id, commentId, sql`FOR NO KEY UPDATE OF written`) };
}

/**
 * @param lock the lock to take on the row of the post, if any
 * @returns a comment that the voice may read
 * @throws DomainError not_found, not_entitled
 */
export async function findVisibleComment(
  db: Queries,
  voice: Voice,
  { publicId, commentId }: CommentRef,
  now: Date,
  lock?: Sql,
): Promise<{ post: PostRow; comment: CommentRow }> {
  const post = await findVisiblePost(db, voice, publicId, now, lock);
  return { post, comment: await findRow(db, voice, post.id, commentId) };
}

/**
 * Adds a reaction to a comment. A second call changes nothing.
 * @throws DomainError not_found, not_entitled (the student has no access, or is not a member)
 */
export async function reactToComment(
  { db, storage }: MediaDeps,
  voice: Voice,
  { reaction, ...ref }: CommentRef & { reaction: ReactionKind },
  now: Date,
): Promise<CommentRecord> {
  return db.transaction(async (tx) => {
    await lockVoice(tx, voice);
    const { post, comment } = await findVisibleComment(tx, voice, ref, now);
    await requireWriter(tx, voice, post.spaceId, now, 'post');
    if (comment.state !== 'published') throw notFound('comment');
    await addReaction(tx, voice, comment.id, reaction, now);
    return readComment(tx, storage, voice, comment.id);
  });
}

/**
 * Removes a person's reaction to a comment. A second call changes nothing.
 * @throws DomainError not_found, not_entitled (the student has no access)
 */
export async function takeBackReactionToComment(
  { db, storage }: MediaDeps,
  voice: Voice,
  { reaction, ...ref }: CommentRef & { reaction: ReactionKind },
  now: Date,
): Promise<CommentRecord> {
  return db.transaction(async (tx) => {
    await lockVoice(tx, voice);
    const { comment } = await findVisibleComment(tx, voice, ref, now);
    await removeReaction(tx, voice, comment.id, reaction);
    return readComment(tx, storage, voice, comment.id);
  });
}

async function presentComments(
  db: Queries,
  storage: ObjectStore,
  voice: Voice,
  rows: readonly CommentRow[],
): Promise<CommentRecord[]> {
  const reactions = await reactionsTo(
    db,
    voice,
    rows.map(({ id }) => id),
  );
  const present = async (row: CommentRow): Promise<CommentRecord> => {
    const author = row.state === 'published' ? await presentAuthor(storage, row) : undefined;
    return {
      id: row.id,
      ...(row.replyTo !== null && { reply_to: row.replyTo }),
      ...(row.body !== null && { body: row.body }),
      ...(author && { author }),
      own: row.own,
      hidden: row.hiddenAt !== null,
      deleted: row.state !== 'published',
      reactions: reactions(row.id),
      created_at: row.createdAt.toISOString(),
      ...(row.editedAt !== null && { edited_at: row.editedAt.toISOString() }),
    };
  };
  return Promise.all(rows.map(present));
}
