/** Lets administrators moderate posts and comments. Each act of moderation is stored as a row (COMM-13). */
import { CommunityComment } from '../../entities/community/community-comment.ts';
import { CommunityModeration } from '../../entities/community/community-moderation.ts';
import { CommunityPost } from '../../entities/community/community-post.ts';
import type { ModerationAction } from '../../entities/community/values.ts';
import type { RecordOf } from '../../contract/contract.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import type { Database, Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { countListed } from '../../platform/infra/postgres/lists/counts.ts';
import { newestFirst } from '../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../platform/infra/postgres/lists/page.ts';
import { columns, sql, type RowOf } from '../../platform/infra/postgres/sql.ts';
import { notFound } from '../../platform/core/errors.ts';
import type { DatabaseDeps } from '../deps.ts';
import { lockComment, removeCommentBody, type CommentRef } from './comments.ts';
import { lockPost, removePostBody, type PostRow } from './posts.ts';
import { settleReports } from './reports.ts';
import type { Voice } from './voices.ts';

type ModerationRecord = RecordOf<'CommunityModeration'>;

interface Act<Action extends ModerationAction> {
  action: Action;
  reason?: string | undefined;
}
type CommentAction = Extract<ModerationAction, 'hide' | 'restore' | 'delete'>;

/** Moderates a post. A second call with the same action does not change the post again. @returns the act @throws DomainError not_found */
export async function moderatePost(
  { db }: DatabaseDeps,
  by: Voice,
  publicId: string,
  { action, reason }: Act<ModerationAction>,
  now: Date,
): Promise<ModerationRecord> {
  return db.transaction(async (tx) => {
    const post = await lockPost(tx, by, publicId);
    if (action === 'delete') await removePostBody(tx, by.clubId, post, now);
    else if (action === 'pin' && post.state !== 'published') throw notFound('post');
    else await tx.manager.update(CommunityPost, { id: post.id }, changeOf(post, action, now));
    if (action === 'hide') await settleReports(tx, sql`target_id = ${post.id}`, 'upheld', now);
    return note(tx, by, { postId: post.id }, { action, reason }, now);
  });
}

function changeOf(
  { hiddenAt }: Pick<PostRow, 'hiddenAt'>,
  action: Exclude<ModerationAction, 'delete'>,
  now: Date,
): Partial<CommunityPost> {
  const changes: Record<typeof action, Partial<CommunityPost>> = {
    hide: { hiddenAt: hiddenAt ?? now },
    restore: { hiddenAt: null },
    pin: { pinned: true },
    unpin: { pinned: false },
    lock: { locked: true },
    unlock: { locked: false },
  };
  return changes[action];
}

/** Moderates a comment. A second call with the same action does not change the comment again. @throws DomainError not_found */
export async function moderateComment(
  { db }: DatabaseDeps,
  by: Voice,
  ref: CommentRef,
  { action, reason }: Act<CommentAction>,
  now: Date,
): Promise<ModerationRecord> {
  return db.transaction(async (tx) => {
    const { post, comment } = await lockComment(tx, by, ref);
    if (action === 'delete') await removeCommentBody(tx, comment, now);
    else {
      const hiddenAt = action === 'hide' ? (comment.hiddenAt ?? now) : null;
      await tx.manager.update(CommunityComment, { id: comment.id }, { hiddenAt });
    }
    if (action === 'hide') await settleReports(tx, sql`target_id = ${comment.id}`, 'upheld', now);
    return note(tx, by, { postId: post.id, commentId: comment.id }, { action, reason }, now);
  });
}

async function note(
  tx: Transaction,
  { clubId, id: administratorId }: Voice,
  { postId, commentId = null }: { postId: Id; commentId?: Id | null },
  { action, reason }: { action: ModerationAction; reason: string | undefined },
  now: Date,
): Promise<ModerationRecord> {
  const id = newId();
  await tx.manager.insert(CommunityModeration, {
    id,
    clubId,
    postId,
    commentId,
    administratorId,
    action,
    reason: reason ?? null,
    createdAt: now,
  });
  const row = await tx.one<ModerationRow>(sql`SELECT ${moderationColumns} ${acts} WHERE act.id = ${id}`);
  if (!row) throw new Error(`Moderation ${id} cannot be read back in the transaction that wrote it`);
  return presentModeration(row);
}

const moderationColumns = columns(
  CommunityModeration,
  ['id', 'action', 'commentId', 'reason', 'createdAt', 'administratorId'],
  'act',
).and<{ publicId: string; spaceId: Id; administratorName: string | null }>(
  sql`post.public_id AS "publicId", post.space_id AS "spaceId", administrator.name AS "administratorName"`,
);
type ModerationRow = RowOf<typeof moderationColumns>;

const acts = sql`FROM community_moderations act JOIN community_posts post ON post.id = act.post_id
  LEFT JOIN administrators administrator ON administrator.id = act.administrator_id`;

/** @returns a page of the moderation acts of the last year, the latest first */
export async function listModerations(db: Queries, clubId: Id, page: PageRequest): Promise<Page<ModerationRecord>> {
  const { rows, total, next } = await listPage(db, page, {
    columns: moderationColumns,
    from: sql`${acts} WHERE act.club_id = ${clubId}`,
    orderBy: newestFirst('act'),
    total: () => countListed(db, { list: 'moderations', clubId }),
  });
  return { rows: rows.map(presentModeration), total, next };
}

function presentModeration(row: ModerationRow): ModerationRecord {
  return {
    id: row.id,
    action: row.action,
    post_public_id: row.publicId,
    space_id: row.spaceId,
    ...(row.commentId !== null && { comment_id: row.commentId }),
    ...(row.administratorId !== null &&
      row.administratorName !== null && {
        administrator: { id: row.administratorId, name: row.administratorName },
      }),
    ...(row.reason !== null && { reason: row.reason }),
    created_at: row.createdAt.toISOString(),
  };
}

const retentionMs = 365 * 86_400_000;
const rowsPerRound = 1_000;

/**
 * Deletes a batch of reports and moderation rows that are older than a year. Repeated or simultaneous calls do no harm.
 */
export async function retainModeration(
  db: Database,
  now: Date,
): Promise<{ rows: { reports: number; moderations: number }; more: boolean }> {
  const before = new Date(now.getTime() - retentionMs);
  const reports = await db.run(sql`DELETE FROM community_reports WHERE id IN (
    SELECT id FROM community_reports WHERE created_at < ${before} ORDER BY created_at LIMIT ${rowsPerRound})`);
  const moderations = await db.run(sql`DELETE FROM community_moderations WHERE id IN (
    SELECT id FROM community_moderations WHERE created_at < ${before} ORDER BY created_at LIMIT ${rowsPerRound})`);
  return { rows: { reports, moderations }, more: reports === rowsPerRound || moderations === rowsPerRound };
}
