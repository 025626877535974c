/** Reads and writes the rows of uploads through our listener: the owner, the length and the store's id of each upload (MED-26, MED-29). */
import type { MediaUpload } from '../../../entities/media/media-upload.ts';
import type { MediaPurpose, MediaStatus } from '../../../entities/media/values.ts';
import type { Database, Queries } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { isOpenClub } from '../../open-clubs.ts';
import { maxBytes } from '../media.policy.ts';
import { reserveStorage } from '../storage/storage.ts';

/** A file that is or was uploaded through our listener. */
export interface UploadedFile {
  id: Id;
  clubId: Id;
  ownerId: Id | null;
  purpose: MediaPurpose;
  status: MediaStatus;
  mime: string | null;
  objectKey: string | null;
  /** The length in bytes that a request announced; 0 if no request has announced a length yet. */
  length: number;
  /** The store's id of a multipart upload; undefined until the first bytes arrive. */
  multipartId: string | undefined;
  /** False after the file has arrived, has failed or was removed. */
  isOpen: boolean;
}

/** @returns undefined if the file is unknown, removed or failed, or not uploaded through our listener */
export async function findUploadedFile(db: Queries, mediaId: Id): Promise<UploadedFile | undefined> {
  const row = await db.one<
    Omit<UploadedFile, 'length' | 'multipartId'> & { length: string; multipartId: string | null }
  >(sql`
    SELECT media.id, media.club_id AS "clubId", owner_id AS "ownerId", purpose, status, mime, object_key AS "objectKey",
           coalesce(size_bytes, held_bytes, 0) AS length, upload.multipart_id AS "multipartId",
           upload.id IS NOT NULL AND status = 'uploading' AS "isOpen"
      FROM media LEFT JOIN media_uploads upload ON upload.id = media.id
     WHERE media.id = ${mediaId} AND removed_at IS NULL AND status <> 'failed' AND ${isOpenClub(sql`media.club_id`)}`);
  if (!row || (row.status === 'uploading' && !row.isOpen)) return undefined;
  return { ...row, length: Number(row.length), multipartId: row.multipartId ?? undefined };
}

/**
 * Sets the length of an upload. If the reservation states a size, the length must be the same. If the reservation states no size, as for a
 * student's file, this function reserves the length in the club's storage (MED-21).
 * @param header the name of the header with the length
 * @throws DomainError not_found, invalid_request, limit_reached
 */
export async function declareLength(
  db: Database,
  mediaId: Id,
  length: number,
  header: 'Upload-Length' | 'Content-Length' = 'Upload-Length',
): Promise<void> {
  await db.transaction(async (tx) => {
    const file = await tx.one<{
      clubId: Id;
      ownerId: Id | null;
      purpose: MediaPurpose;
      mime: string | null;
      held: string | null;
    }>(sql`
      SELECT club_id AS "clubId", owner_id AS "ownerId", purpose, mime, held_bytes AS held FROM media
       WHERE id = ${mediaId} AND status = 'uploading' AND removed_at IS NULL FOR NO KEY UPDATE`);
    if (!file || file.mime === null) throw notFound('upload');
    const reserved = Number(file.held ?? 0);
    if (reserved === length) return;
    if (reserved > 0)
      throw new DomainError('invalid_request', `${header} must be ${reserved}, the length that was announced first.`);
    const most = maxBytes(file.purpose, file.mime);
    if (length > most) throw new DomainError('invalid_request', `${header} must be at most ${most}.`);
    await reserveStorage(tx, file.clubId, length, file.ownerId === null ? 'administrator' : 'person');
    await tx.run(sql`UPDATE media SET held_bytes = ${length} WHERE id = ${mediaId}`);
  });
}

/**
 * Counts the open uploads of a library. The caller holds the lock of the club's storage, so the number does not change before the
 * transaction ends.
 */
export async function countOpenUploads(db: Queries, clubId: Id): Promise<number> {
  const row = await db.one<{ open: number }>(sql`
    SELECT count(*)::int AS open FROM media_uploads JOIN media ON media.id = media_uploads.id
     WHERE media_uploads.club_id = ${clubId} AND media.owner_id IS NULL`);
  return row?.open ?? 0;
}

/**
 * Records the id that the store gave to the upload. Only the holder of the upload's lock can record it.
 * @returns false if the lock was lost or another request has recorded an id
 */
export async function recordMultipart(
  db: Queries,
  { id, fence }: Pick<MediaUpload, 'id' | 'fence'>,
  multipartId: string | null,
): Promise<boolean> {
  const open = multipartId === null ? sql`multipart_id IS NOT NULL` : sql`multipart_id IS NULL`;
  return (
    (await db.run(
      sql`UPDATE media_uploads SET multipart_id = ${multipartId} WHERE id = ${id} AND fence = ${fence} AND ${open}`,
    )) > 0
  );
}
