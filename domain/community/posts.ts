/** Publishes, lists, reads, edits and deletes posts in spaces (COMM-10). */
import { CommunityPost } from '../../entities/community/community-post.ts';
import type { ReactionKind } from '../../entities/community/values.ts';
import type { RecordOf } from '../../contract/contract.ts';
import { DomainError, notFound } from '../../platform/core/errors.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { hasVisible, tidyName } from '../../platform/core/text/text.policy.ts';
import type { ObjectStore } from '../../platform/infra/store/object-store.ts';
import type { Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { countEach, countListed } from '../../platform/infra/postgres/lists/counts.ts';
import { descending, newestFirst } from '../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../platform/infra/postgres/lists/page.ts';
import { columns, given, raw, sql, type RowOf, type Sql } from '../../platform/infra/postgres/sql.ts';
import type { MediaDeps } from '../media/media.ts';
import { authorColumns, authors, presentAuthor, type AuthorRow } from './authors.ts';
import { dropPostFiles, presentPostFiles, setPostFiles } from './post-files.ts';
import { addReaction, reactionsTo, removeReaction } from './reactions.ts';
import { settleReports } from './reports.ts';
import { lockVoice, isOwn, isVisible, requireReader, requireWriter, type Voice } from './voices.ts';
import { RefusalToPerson } from '../language/refusal.ts';

type PostRecord = RecordOf<'CommunityPost'>;

export const written = raw('written');

const postColumns = columns(
  CommunityPost,
  ['id', 'publicId', 'spaceId', 'title', 'body', 'state', 'pinned', 'locked', 'hiddenAt', 'createdAt', 'editedAt'],
  'written',
).and<AuthorRow>(authorColumns);

/** The columns of a post. The column `own` is true if the voice wrote the post. */
const columnsFor = (voice: Voice) =>
  postColumns.and<{ own: boolean }>(sql`coalesce(${isOwn(voice, written)}, false) AS own`);
export type PostRow = RowOf<ReturnType<typeof columnsFor>>;

const fromPosts = sql`FROM community_posts written ${authors}`;

/** Returns the public id of a post: its id in base 36. The public id is unique and has at most 25 characters. */
const publicIdOf = (id: Id): string => BigInt(`0x${id.replaceAll('-', '')}`).toString(36);

const postExists = () => new DomainError('post_exists', 'A post or a comment with this id was published already.');

/**
 * Chooses the id of a new post or comment. A reaction or a report names a post or a comment only by its id. So each id must be unique among
 * all posts and comments of all clubs. The function takes an advisory lock for the requested id, so that two transactions with the same id
 * run one after the other.
 * @param requestedId the id that the caller has chosen
 * @returns the requested id, or a new id
 * @throws DomainError post_exists
 */
export async function chooseId(tx: Transaction, requestedId: Id | undefined): Promise<Id> {
  if (requestedId === undefined) return newId();
  const id = requestedId.toLowerCase();
  await tx.run(sql`SELECT pg_advisory_xact_lock(hashtextextended('post or comment ' || ${id}::text, 0))`);
  const duplicate = await tx.one(sql`SELECT 1 FROM community_posts WHERE id = ${id}
    UNION ALL SELECT 1 FROM community_comments WHERE id = ${id}`);
  if (duplicate) throw postExists();
  return id;
}

/**
 * Publishes a post. A repeated `id` publishes nothing more.
 * @throws DomainError not_found, not_entitled (the student has no access or is not a member, or only administrators may post), post_exists,
 *   invalid_request, invalid_file, media_archived
 */
export async function publishPost(
  { db, storage }: MediaDeps,
  voice: Voice,
  spaceId: Id,
  input: RecordOf<'CommunityPostCreation'>,
  now: Date,
): Promise<PostRecord> {
  const id = await db.transaction(async (tx) => {
    await lockVoice(tx, voice);
    const space = await requireWriter(tx, voice, spaceId, now);
    if (voice.kind === 'student' && space.posting === 'admins')
      throw new RefusalToPerson('not_entitled', 'refusal.administrators_post');
    const created = await chooseId(tx, input.id);
    await tx.run(sql`
      INSERT INTO community_posts (id, club_id, space_id, public_id, student_id, administrator_id, title, body, created_at)
      VALUES (${created}, ${voice.clubId}, ${space.id}, ${publicIdOf(created)}, ${voice.kind === 'student' ? voice.id : null},
        ${voice.kind === 'admin' ? voice.id : null}, ${titleOf(input.title)}, ${input.body}, ${now})`);
    if (input.file_ids && input.file_ids.length > 0) await setPostFiles(tx, voice, created, input.file_ids, now);
    return created;
  });
  return readPost(db, storage, voice, sql`written.id = ${id}`);
}

function titleOf(text: string | undefined): string | null {
  const title = tidyName(text ?? '');
  return hasVisible(title) ? title : null;
}

/**
 * @returns a page of the space's posts: pinned posts first, then the newest posts
 * @throws DomainError not_found, not_entitled (the student has no access)
 */
export async function listPosts(
  db: Queries,
  storage: ObjectStore,
  voice: Voice,
  spaceId: Id,
  page: PageRequest,
  now: Date,
): Promise<Page<PostRecord>> {
  const space = await requireReader(db, voice, spaceId, now);
  const { rows, total, next } = await listPage<PostRow>(db, page, {
    columns: columnsFor(voice),
    from: sql`${fromPosts} WHERE written.space_id = ${space.id} AND ${isVisible(voice, written)}`,
    orderBy: [descending('written.pinned', 'boolean'), ...newestFirst('written')],
    total: async () => {
      const listed = { list: 'space_posts', clubId: voice.clubId, subjectId: space.id } as const;
      if (voice.kind === 'admin') return countListed(db, listed);
      const ownCount = await db.one<{ hidden: number }>(sql`
        SELECT count(*)::int AS hidden FROM community_posts written
         WHERE space_id = ${space.id} AND student_id = ${voice.id} AND hidden_at IS NOT NULL AND state <> 'deleted'`);
      return (await countListed(db, { ...listed, marked: false })) + (ownCount?.hidden ?? 0);
    },
  });
  return { rows: await presentPosts(db, storage, voice, rows), total, next };
}

/**
 * @throws DomainError not_found (also if the post is hidden or deleted, or its space is not visible), not_entitled (the student has no
 *   access to the space)
 */
export async function readVisiblePost(
  db: Queries,
  storage: ObjectStore,
  voice: Voice,
  publicId: string,
  now: Date,
): Promise<PostRecord> {
  const { id } = await findVisiblePost(db, voice, publicId, now);
  return readPost(db, storage, voice, sql`written.id = ${id}`);
}

async function readPost(db: Queries, storage: ObjectStore, voice: Voice, which: Sql): Promise<PostRecord> {
  const row = await db.one<PostRow>(sql`SELECT ${columnsFor(voice)} ${fromPosts} WHERE ${which}`);
  const [post] = row ? await presentPosts(db, storage, voice, [row]) : [];
  if (!post) throw notFound('post');
  return post;
}

/** @param lock `FOR SHARE`, `FOR NO KEY UPDATE`, or empty */
async function findRow(
  db: Queries,
  voice: Voice,
  publicId: string,
  lock = sql``,
  which = isVisible(voice, written),
): Promise<PostRow> {
  const row = await db.one<PostRow>(sql`
    SELECT ${columnsFor(voice)} ${fromPosts}
     WHERE written.club_id = ${voice.clubId} AND written.public_id = ${publicId} AND ${which} ${lock}`);
  if (!row) throw notFound('post');
  return row;
}

/**
 * @param lock the lock clause, as in {@link findRow}
 * @returns a post that the voice may read
 * @throws DomainError not_found, not_entitled
 */
export async function findVisiblePost(
  db: Queries,
  voice: Voice,
  publicId: string,
  now: Date,
  lock?: Sql,
): Promise<PostRow> {
  const row = await findRow(db, voice, publicId, lock);
  await requireReader(db, voice, row.spaceId, now, 'post');
  return row;
}

/**
 * Locks the writer of a comment, and takes a shared lock on the post. So the post cannot be deleted or closed for comments before the
 * comment is written.
 * @throws DomainError not_found, not_entitled (the student has no access, or is not a member)
 */
export async function lockPostForWriting(tx: Transaction, voice: Voice, publicId: string, now: Date): Promise<PostRow> {
  await lockVoice(tx, voice);
  const row = await findRow(tx, voice, publicId, sql`FOR SHARE OF written`);
  await requireWriter(tx, voice, row.spaceId, now, 'post');
  return row;
}

/** Locks a post for a change. @throws DomainError not_found */
export async function lockPost(tx: Transaction, voice: Voice, publicId: string): Promise<PostRow> {
  return findRow(tx, voice, publicId, sql`FOR NO KEY UPDATE OF written`);
}

/**
 * Locks the post of a comment before the comment is deleted, even if its author no longer sees the post.
 * @throws DomainError not_found
 */
export async function lockPostUnseen(tx: Transaction, voice: Voice, publicId: string): Promise<PostRow> {
  return findRow(tx, voice, publicId, sql`FOR NO KEY UPDATE OF written`, sql`written.state <> 'deleted'`);
}

const onlyAuthor = () => new RefusalToPerson('not_entitled', 'refusal.author_alone');

/**
 * Changes the fields of a post that `input` contains. Only the author may edit a post, and only while the author is a member.
 * @throws DomainError not_found, not_entitled, invalid_request, invalid_file, media_archived
 */
export async function updatePost(
  { db, storage }: MediaDeps,
  voice: Voice,
  publicId: string,
  input: RecordOf<'CommunityPostChange'>,
  now: Date,
): Promise<PostRecord> {
  const id = await db.transaction(async (tx) => {
    await lockVoice(tx, voice);
    const post = await lockPost(tx, voice, publicId);
    await requireWriter(tx, voice, post.spaceId, now, 'post');
    if (!post.own) throw onlyAuthor();
    if (post.state !== 'published') throw notFound('post');
    const title = input.title === undefined ? undefined : titleOf(input.title);
    await tx.manager.update(CommunityPost, { id: post.id }, given({ title, body: input.body, editedAt: now }));
    if (input.file_ids) await setPostFiles(tx, voice, post.id, input.file_ids, now);
    return post.id;
  });
  return readPost(db, storage, voice, sql`written.id = ${id}`);
}

/**
 * Deletes a post for its author. The author may always delete it, even after the author's access has ended. If comments of other people
 * remain, lists still show the deleted post without text, and a second call changes nothing. Otherwise the post disappears from lists, and
 * a second call does not find it.
 * @throws DomainError not_found, not_entitled
 */
export async function deletePost({ db }: MediaDeps, voice: Voice, publicId: string, now: Date): Promise<void> {
  await db.transaction(async (tx) => {
    await lockVoice(tx, voice);
    const post = await lockPost(tx, voice, publicId);
    if (!post.own) {
      await requireReader(tx, voice, post.spaceId, now, 'post');
      throw onlyAuthor();
    }
    await removePostBody(tx, voice.clubId, post, now);
  });
}

/**
 * Removes the text of a post and its files. Lists still show it as deleted if other people have commented on it. The caller holds the lock
 * of the post.
 */
export async function removePostBody(
  tx: Transaction,
  clubId: Id,
  post: Pick<PostRow, 'id' | 'state'>,
  now: Date,
): Promise<void> {
  if (post.state !== 'published') return;
  const emptied = await tx.one<{ state: CommunityPost['state'] }>(sql`
    UPDATE community_posts post SET title = NULL, body = NULL, pinned = false, state = CASE WHEN ${othersCommented} THEN 'emptied' ELSE 'deleted' END
     WHERE post.id = ${post.id} RETURNING state`);
  if (emptied?.state === 'deleted')
    await tx.run(
      sql`UPDATE community_comments SET body = NULL, state = 'deleted' WHERE post_id = ${post.id} AND state <> 'deleted'`,
    );
  await settleReports(
    tx,
    emptied?.state === 'deleted' ? sql`post_id = ${post.id}` : sql`target_id = ${post.id}`,
    'upheld',
    now,
  );
  await dropPostFiles(tx, clubId, post.id, now);
}

/** An SQL condition on `community_posts post`: other people have commented on the post. */
export const othersCommented = sql`EXISTS (
  SELECT FROM community_comments comment
   WHERE comment.post_id = post.id AND comment.state <> 'deleted'
     AND (comment.student_id, comment.administrator_id) IS DISTINCT FROM (post.student_id, post.administrator_id))`;

/**
 * Adds a reaction to a post. A second call changes nothing.
 * @throws DomainError not_found, not_entitled (the student has no access, or is not a member)
 */
export async function reactToPost(
  { db, storage }: MediaDeps,
  voice: Voice,
  { publicId, reaction }: { publicId: string; reaction: ReactionKind },
  now: Date,
): Promise<PostRecord> {
  const id = await db.transaction(async (tx) => {
    await lockVoice(tx, voice);
    const post = await findVisiblePost(tx, voice, publicId, now);
    await requireWriter(tx, voice, post.spaceId, now, 'post');
    if (post.state !== 'published') throw notFound('post');
    await addReaction(tx, voice, post.id, reaction, now);
    return post.id;
  });
  return readPost(db, storage, voice, sql`written.id = ${id}`);
}

/**
 * Removes a person's reaction to a post. A second call changes nothing.
 * @throws DomainError not_found, not_entitled (the student has no access)
 */
export async function takeBackReactionToPost(
  { db, storage }: MediaDeps,
  voice: Voice,
  { publicId, reaction }: { publicId: string; reaction: ReactionKind },
  now: Date,
): Promise<PostRecord> {
  const id = await db.transaction(async (tx) => {
    await lockVoice(tx, voice);
    const post = await findVisiblePost(tx, voice, publicId, now);
    await removeReaction(tx, voice, post.id, reaction);
    return post.id;
  });
  return readPost(db, storage, voice, sql`written.id = ${id}`);
}

async function presentPosts(
  db: Queries,
  storage: ObjectStore,
  voice: Voice,
  rows: readonly PostRow[],
): Promise<PostRecord[]> {
  const ids = rows.map(({ id }) => id);
  const files = await presentPostFiles(db, storage, ids);
  const reactions = await reactionsTo(db, voice, ids);
  const commentsOf = await countEach(db, voice.clubId, { lists: ['post_comments'], subjectIds: ids });
  const present = async (row: PostRow): Promise<PostRecord> => {
    const author = row.state === 'published' ? await presentAuthor(storage, row) : undefined;
    return {
      id: row.id,
      public_id: row.publicId,
      space_id: row.spaceId,
      ...(row.title !== null && { title: row.title }),
      ...(row.body !== null && { body: row.body }),
      ...(author && { author }),
      own: row.own,
      files: files.get(row.id) ?? [],
      pinned: row.pinned,
      locked: row.locked,
      hidden: row.hiddenAt !== null,
      deleted: row.state !== 'published',
      comment_count: commentsOf({ list: 'post_comments', subjectId: row.id, marked: false }),
      reactions: reactions(row.id),
      created_at: row.createdAt.toISOString(),
      ...(row.editedAt !== null && { edited_at: row.editedAt.toISOString() }),
    };
  };
  return Promise.all(rows.map(present));
}
