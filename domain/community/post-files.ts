/** Attaches files to posts. A student's own file can belong to only one post. An administrator's file belongs to the library (COMM-15). */
import { CommunityPostFile } from '../../entities/community/community-post-file.ts';
import type { RecordOf } from '../../contract/contract.ts';
import { DomainError } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { ObjectStore } from '../../platform/infra/store/object-store.ts';
import type { Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { removeFiles } from '../media/erasure/erasure.ts';
import { mediaColumns, presentMedia, type StoredMedia } from '../media/media.ts';
import { presentUsed } from '../media/uses/presentation.ts';
import { keepSentFiles, releaseFiles } from '../media/purposes/unsent-files.ts';
import { setUses } from '../media/uses/uses.ts';
import type { Voice } from './voices.ts';

/**
 * Sets the files of a post, in their order. A student's file that the post no longer shows can be used in another post. The caller holds
 * the lock of the post, and of the student who wrote it.
 * @throws DomainError invalid_file for a student; not_found or media_archived for an administrator
 */
export async function setPostFiles(
  tx: Transaction,
  voice: Voice,
  postId: Id,
  fileIds: readonly Id[],
  now: Date,
): Promise<void> {
  if (voice.kind === 'admin') return setUses(tx, voice.clubId, { kind: 'post', id: postId }, fileIds).catch(asFile);
  const requestedIds = fileIds.map((id) => id.toLowerCase());
  if (new Set(requestedIds).size < requestedIds.length)
    throw new DomainError('invalid_file', 'file_ids names the same file twice.');
  const rows = await tx.manager.findBy(CommunityPostFile, { postId });
  const currentIds = new Set(rows.map(({ mediaId }) => mediaId));
  const addedIds = requestedIds.filter((id) => !currentIds.has(id));
  const droppedIds = [...currentIds].filter((id) => !requestedIds.includes(id));
  if (addedIds.length > 0) await keepSentFiles(tx, { clubId: voice.clubId, studentId: voice.id }, 'post', addedIds);
  if (droppedIds.length > 0) await releaseFiles(tx, 'post', sql`SELECT unnest(${droppedIds}::uuid[])`, now);
  await tx.manager.delete(CommunityPostFile, { postId });
  if (requestedIds.length > 0)
    await tx.run(sql`INSERT INTO community_post_files (media_id, post_id, position)
      SELECT id, ${postId}, place - 1 FROM unnest(${requestedIds}::uuid[]) WITH ORDINALITY AS asked (id, place)`);
}

function asFile(error: unknown): never {
  throw error instanceof DomainError && error.code === 'not_found'
    ? new DomainError('not_found', 'There is no such file in this club.')
    : error;
}

/**
 * Detaches the files of a deleted post. A student's own files are deleted permanently, files of the library are not. The caller holds the
 * lock of the post.
 */
export async function dropPostFiles(tx: Transaction, clubId: Id, postId: Id, now: Date): Promise<void> {
  await removeFiles(tx, sql`SELECT media_id FROM community_post_files WHERE post_id = ${postId}`, now);
  await tx.manager.delete(CommunityPostFile, { postId });
  await setUses(tx, clubId, { kind: 'post', id: postId }, []);
}

/**
 * @returns for each post, its files with signed URLs. A student's files are in the student's order. The result has no entry for a post
 * without files.
 */
export async function presentPostFiles(
  db: Queries,
  storage: ObjectStore,
  postIds: readonly Id[],
): Promise<Map<Id, RecordOf<'Media'>[]>> {
  const files = await presentUsed(db, storage, 'post', postIds);
  for (const used of files.values())
    used.sort((one, other) => (one.created_at + one.id < other.created_at + other.id ? -1 : 1));
  if (postIds.length === 0) return files;
  const rows = await db.rows<StoredMedia & { postId: Id }>(sql`
    SELECT ${mediaColumns}, shown.post_id AS "postId" FROM community_post_files shown JOIN media ON media.id = shown.media_id
     WHERE shown.post_id = ANY (${postIds}::uuid[]) AND media.removed_at IS NULL ORDER BY shown.post_id, shown.position`);
  for (const row of rows) files.set(row.postId, [...(files.get(row.postId) ?? []), await presentMedia(row, storage)]);
  return files;
}
