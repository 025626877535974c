/** Publishes files of the library, and finds them by their permanent addresses (MED-5, MED-7, MED-25). */
import { createHash } from 'node:crypto';
import type { RecordOf } from '../../../contract/contract.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { wake } from '../../../platform/engine/wakes.ts';
import type { MediaStatus, MediaVisibility } from '../../../entities/media/values.ts';
import { findMedia, type LibraryReader } from './library.ts';
import { mediaColumns, type LibraryDeps, type StoredMedia } from '../media.ts';
import { isOpenClub } from '../../open-clubs.ts';

/**
 * Requests that a file becomes public or private. A run then copies the file to the other bucket. If the file already has the requested
 * visibility, nothing changes. If there are several requests, the last request counts.
 * @returns the file, with a new `visibility` only after the move
 * @throws DomainError not_found, also for a student's file; media_not_ready, if the file is not ready or not stored here; media_archived,
 * if an archived file should be published
 */
export async function moveMedia(
  deps: LibraryDeps,
  reader: LibraryReader,
  mediaId: Id,
  visibility: MediaVisibility,
  now: Date,
): Promise<RecordOf<'Media'>> {
  const { clubId } = reader;
  await deps.db.transaction(async (tx) => {
    const file = await tx.one<{
      visibility: MediaVisibility;
      status: MediaStatus;
      archived: boolean;
      stored: boolean;
    }>(sql`
      SELECT visibility, status, archived, object_key IS NOT NULL AS stored FROM media
       WHERE id = ${mediaId} AND club_id = ${clubId} AND purpose = 'library' AND removed_at IS NULL FOR NO KEY UPDATE`);
    if (!file) throw notFound('file');
    if (file.status !== 'ready' || !file.stored)
      throw new DomainError('media_not_ready', 'Only a ready file that is stored here can change its visibility.');
    if (visibility === 'public' && file.archived)
      throw new DomainError('media_archived', 'The file is archived. Take it out of the archive to publish it.');
    const changedMoves = await tx.run(sql`UPDATE media_moves SET visibility = ${visibility} WHERE id = ${mediaId}`);
    if (changedMoves === 0 && file.visibility === visibility) return;
    if (changedMoves === 0)
      await tx.run(sql`
        INSERT INTO media_moves (id, club_id, visibility, looks_at, created_at) VALUES (${mediaId}, ${clubId}, ${visibility}, ${now}, ${now})`);
    await wake(tx, 'mediaMove', [{ id: mediaId, clubId }], now);
  });
  return findMedia(deps, reader, mediaId);
}

/**
 * Finds the current object of a public file. The permanent address redirects to it, and so stays valid after the content was replaced.
 * @returns the object's address, and an entity tag that changes with the content
 * @throws DomainError not_found if the file is private, removed or unknown
 */
export async function findPublicFile(
  db: Queries,
  storage: Pick<ObjectStore, 'publicAddress'>,
  mediaId: Id,
  role: 'preview' | 'thumbnail',
): Promise<{ location: string; tag: string }> {
  const file = await db.one<StoredMedia>(sql`
    SELECT ${mediaColumns} FROM media
     WHERE id = ${mediaId} AND visibility = 'public' AND purpose = 'library' AND status = 'ready' AND removed_at IS NULL
       AND ${isOpenClub(sql`media.club_id`)}`);
  const { preview, thumbnail, video } = file?.renditions ?? {};
  const key = role === 'thumbnail' ? thumbnail?.key : ((preview ?? video)?.key ?? file?.objectKey);
  if (!key) throw notFound('file');
  return {
    location: storage.publicAddress(key),
    tag: `"${createHash('sha256').update(key).digest('base64url').slice(0, 22)}"`,
  };
}
