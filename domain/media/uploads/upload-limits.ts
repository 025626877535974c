/** How many uploads may be open: of a student, and of a library. Addresses of files that are gone count until they end (MED-29). */
import type { MediaPurpose } from '../../../entities/media/values.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { mediaRules, resumableRules, type UploadWay } from '../media.policy.ts';
import { countOpenUploads } from './open-uploads.ts';
import { RefusalToPerson } from '../../language/refusal.ts';
import { DomainError } from '../../../platform/core/errors.ts';

/** Of a row of `media`: no file stands at its address, nor does one become ready. */
const isGone = sql`(status = 'failed' OR removed_at IS NOT NULL)`;

/**
 * What no question shows, and what is in no attempt, has a time at which it goes, but while it is processed. A file that is gone keeps its
 * place until its address has ended. The student is held.
 */
export async function countUnused(tx: Transaction, studentId: Id, purpose: MediaPurpose, now: Date): Promise<number> {
  const row = await tx.one<{ unused: number }>(sql`SELECT count(*)::int AS unused FROM media
      WHERE owner_id = ${studentId} AND purpose = ${purpose}
        AND (status <> 'failed' AND removed_at IS NULL AND (erases_at IS NOT NULL OR status = 'processing')
             OR ${isGone} AND address_bytes IS NOT NULL AND upload_expires_at > ${now})`);
  return row?.unused ?? 0;
}

/**
 * An address takes its file also after the reservation has gone, so what counts is which addresses are good.
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
 * Of a library. The club's storage is locked: of two reservations at the same time one counts the other.
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
      `${maxLibraryAddresses} uploads have been begun. Complete some of them first. One that is deleted counts until its address has ended, 15 minutes after its reservation.`,
    );
}

/** @returns how many addresses of a library are good, and no file stands there */
async function countAddresses(tx: Transaction, clubId: Id, now: Date): Promise<number> {
  const row = await tx.one<{ open: number }>(sql`SELECT count(*)::int AS open FROM media
      WHERE club_id = ${clubId} AND owner_id IS NULL AND address_bytes IS NOT NULL AND upload_expires_at > ${now}
        AND (status = 'uploading' OR ${isGone})`);
  return row?.open ?? 0;
}
