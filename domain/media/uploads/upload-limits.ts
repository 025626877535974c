/** Limits the open uploads of a student and of a library. The upload of a removed file counts until its address expires (MED-29). */
import type { MediaPurpose } from '../../../entities/media/values.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { mediaRules, resumableRules, type UploadWay } from '../media.policy.ts';
import { countOpenUploads } from './open-uploads.ts';
import { RefusalToPerson } from '../../language/refusal.ts';
import { DomainError } from '../../../platform/core/errors.ts';

/** A condition on `media`. It is true if the file has failed or was removed. */
const isGone = sql`(status = 'failed' OR removed_at IS NOT NULL)`;

/**
 * Counts a student's unused files for one purpose. An unused file has an erasure time, unless it is being processed. A failed or removed
 * file counts until its address expires. The caller holds the student's lock.
 */
export async function countUnused(tx: Transaction, studentId: Id, purpose: MediaPurpose, now: Date): Promise<number> {
  const row = await tx.one<{ unused: number }>(sql`SELECT count(*)::int AS unused FROM media
      WHERE owner_id = ${studentId} AND purpose = ${purpose}
        AND (status <> 'failed' AND removed_at IS NULL AND (erases_at IS NOT NULL OR status = 'processing')
             OR ${isGone} AND address_bytes IS NOT NULL AND upload_expires_at > ${now})`);
  return row?.unused ?? 0;
}

/**
 * Limits the valid upload addresses for avatars. Addresses are counted and not reservations, because an address works even after its
 * reservation was removed.
 * @throws DomainError too_many_images
 */
export async function requireFewAvatarUploads(tx: Transaction, studentId: Id, now: Date): Promise<void> {
  const row = await tx.one<{ uploads: number }>(sql`
    SELECT count(*)::int AS uploads FROM media WHERE owner_id = ${studentId} AND purpose = 'avatar' AND upload_expires_at > ${now}`);
  const { maxAvatarUploads } = mediaRules;
  if ((row?.uploads ?? 0) >= maxAvatarUploads)
    throw new RefusalToPerson('too_many_images', ({ say }) =>
      say('refusal.too_many_avatar_uploads', { count: maxAvatarUploads }),
    );
}

/**
 * Limits the open uploads of a library. The caller holds the lock of the club's storage, so that the second of two simultaneous
 * reservations counts the first.
 * @throws DomainError too_many_uploads
 */
export async function requireFewUploads(tx: Transaction, clubId: Id, way: UploadWay, now: Date): Promise<void> {
  const { maxOpen } = resumableRules;
  if (way === 'tus' && (await countOpenUploads(tx, clubId)) >= maxOpen)
    throw new DomainError(
      'too_many_uploads',
      `${maxOpen} videos are being uploaded. Complete or delete some of them first.`,
    );
  const { maxLibraryAddresses } = mediaRules;
  if (way === 'bucket' && (await countAddresses(tx, clubId, now)) >= maxLibraryAddresses)
    throw new DomainError(
      'too_many_uploads',
      `${maxLibraryAddresses} uploads are open. Complete some of them first. A deleted file counts until its address expires, 15 minutes after its reservation.`,
    );
}

/** @returns the number of a library's valid upload addresses without an uploaded file */
async function countAddresses(tx: Transaction, clubId: Id, now: Date): Promise<number> {
  const row = await tx.one<{ open: number }>(sql`SELECT count(*)::int AS open FROM media
      WHERE club_id = ${clubId} AND owner_id IS NULL AND address_bytes IS NOT NULL AND upload_expires_at > ${now}
        AND (status = 'uploading' OR ${isGone})`);
  return row?.open ?? 0;
}
