/** Reserves uploads: inserts the row of the file, and returns the address for its bytes. */
import { Media } from '../../../entities/media/media.ts';
import { MediaUpload } from '../../../entities/media/media-upload.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import { requireFeature } from '../../billing/allowances.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { hasVisible, tidyName } from '../../../platform/core/text/text.policy.ts';
import { wake } from '../../../platform/engine/wakes.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import { lockStudent } from '../../identity/accounts/accounts.ts';
import { removeUnreadyAvatars } from '../purposes/avatars.ts';
import { neverExpires, requireVideoHosting } from '../erasure/expiry.ts';
import { tidyFileName } from '../file-name.policy.ts';
import type { MediaPurpose } from '../../../entities/media/values.ts';
import {
  isAllowedType,
  isResumable,
  kindOf,
  maxBytes,
  mediaRules,
  resumableRules,
  uploadWay,
} from '../media.policy.ts';
import { loadMedia, presentMedia, type MediaOwner, type MediaDeps } from '../media.ts';
import { reserveStorage } from '../storage/storage.ts';
import { descriptorOf } from './descriptor.ts';
import { countUnused, requireFewAvatarUploads, requireFewUploads } from './upload-limits.ts';
import { RefusalToPerson } from '../../language/refusal.ts';

export interface ReservationDeps extends MediaDeps {
  vault: Vault;
  /** The public address of the file listener, without a slash at the end. */
  filesUrl: string;
}

/** The caller's description of a file before the upload. The service checks the description when the file has arrived. */
export interface AnnouncedFile {
  fileName: string;
  /** The type of the file. It must be one of the types that the contract lists for the purpose of the file. */
  mime: string;
  /** In bytes. Absent if our listener reads the size from the request (MED-29). */
  sizeBytes?: number;
  /** The title. If it is absent, the name of the file is used. */
  title?: string;
  /**
   * Whether the file is a recording of a live session or a meeting. If the club's plan does not have `video_hosting`, the recording is kept
   * for some days (MED-10).
   */
  recording?: boolean;
}

export interface Reservation {
  data: RecordOf<'Media'>;
  upload: RecordOf<'UploadDescriptor'>;
}

/**
 * Reserves an upload for the club's library. @throws DomainError invalid_request (the name is invalid, or the file is too large),
 * feature_not_in_plan (the plan hosts no videos), limit_reached, too_many_uploads
 */
export async function reserveMedia(
  deps: ReservationDeps,
  clubId: Id,
  announced: AnnouncedFile,
  now: Date,
): Promise<Reservation> {
  return reserve(deps, { clubId }, 'library', announced, async () => {}, now);
}

/**
 * Reserves an upload of a student's image for an agent. The function locks the student. So a removal of the student either commits before
 * the reservation, or sees the new row. The lock also keeps the count of the student's images correct.
 * @throws DomainError invalid_request, feature_not_in_plan, limit_reached, too_many_images, not_found (the student was removed)
 */
export async function reserveAgentImage(
  deps: ReservationDeps,
  owner: Required<MediaOwner>,
  announced: AnnouncedFile,
  now: Date,
): Promise<Reservation> {
  return reserve(
    deps,
    owner,
    'agent_image',
    announced,
    async (tx) => {
      await lockStudent(tx, owner.clubId, owner.studentId);
      await requireFeature(tx, owner.clubId, 'agents', 'person');
      const { maxUnusedImages } = mediaRules;
      if ((await countUnused(tx, owner.studentId, 'agent_image', now)) >= maxUnusedImages)
        throw new RefusalToPerson('too_many_images', ({ say }) =>
          say('refusal.too_many_images', { count: maxUnusedImages }),
        );
    },
    now,
  );
}

/**
 * Reserves an upload of a file for an assignment. The size of the file is unknown until the upload starts. The function locks the student,
 * as `reserveAgentImage` does.
 * @throws DomainError invalid_request, limit_reached, too_many_files, not_found (the student was removed)
 */
export async function reserveAssignmentFile(
  deps: ReservationDeps,
  owner: Required<MediaOwner>,
  { fileName, mime: announcedMime }: Pick<AnnouncedFile, 'fileName' | 'mime'>,
  now: Date,
): Promise<Reservation> {
  const mime = announcedMime.trim().toLowerCase();
  if (!isAllowedType(mime))
    throw new DomainError('invalid_request', 'mime: an assignment does not accept files of this type.');
  return reserve(
    deps,
    owner,
    'assignment',
    { fileName, mime },
    async (tx) => {
      await lockStudent(tx, owner.clubId, owner.studentId);
      const { maxUnsentFiles } = mediaRules;
      if ((await countUnused(tx, owner.studentId, 'assignment', now)) >= maxUnsentFiles)
        throw new RefusalToPerson('too_many_files', ({ say }) =>
          say('refusal.too_many_unsent_files', { count: maxUnsentFiles }),
        );
    },
    now,
  );
}

/**
 * Reserves an upload of an image or a PDF for a student's post. Locks the student, as `reserveAgentImage` does.
 * @throws DomainError invalid_request, limit_reached, too_many_files, not_found (the student was removed)
 */
export async function reservePostFile(
  deps: ReservationDeps,
  owner: Required<MediaOwner>,
  announced: AnnouncedFile,
  now: Date,
): Promise<Reservation> {
  return reserve(
    deps,
    owner,
    'post',
    announced,
    async (tx) => {
      await lockStudent(tx, owner.clubId, owner.studentId);
      const { maxUnsentPostFiles } = mediaRules;
      if ((await countUnused(tx, owner.studentId, 'post', now)) >= maxUnsentPostFiles)
        throw new RefusalToPerson('too_many_files', ({ say }) =>
          say('refusal.too_many_post_files', { count: maxUnsentPostFiles }),
        );
    },
    now,
  );
}

/**
 * Reserves an upload of a student's picture. An earlier picture whose upload is not finished is removed. The current picture stays until
 * the new picture is ready. The function locks the student, as `reserveAgentImage` does.
 * @throws DomainError invalid_request, limit_reached, too_many_images, not_found (the student was removed)
 */
export async function reserveAvatar(
  deps: ReservationDeps,
  owner: Required<MediaOwner>,
  announced: AnnouncedFile,
  now: Date,
): Promise<Reservation> {
  return reserve(
    deps,
    owner,
    'avatar',
    announced,
    async (tx) => {
      await lockStudent(tx, owner.clubId, owner.studentId);
      await requireFewAvatarUploads(tx, owner.studentId, now);
      await removeUnreadyAvatars(tx, owner.studentId, now);
    },
    now,
  );
}

async function reserve(
  deps: ReservationDeps,
  owner: MediaOwner,
  purpose: MediaPurpose,
  announced: AnnouncedFile,
  mayReserve: (tx: Transaction) => Promise<void>,
  now: Date,
): Promise<Reservation> {
  const { db, storage } = deps;
  const { fileName, title } = namesOf(announced);
  const most = maxBytes(purpose, announced.mime);
  const way = uploadWay(purpose, announced.mime);
  if (way === 'bucket' && announced.sizeBytes === undefined)
    throw new DomainError(
      'invalid_request',
      'size_bytes is missing. The upload address accepts only a file of this size.',
    );
  if (announced.sizeBytes !== undefined && announced.sizeBytes > most)
    throw new DomainError('invalid_request', `size_bytes: a file of this type has at most ${most} bytes.`);
  const heldBytes = announced.sizeBytes ?? 0;
  const isHosted = purpose === 'library' && kindOf(announced.mime) === 'video';
  if (announced.recording && !isHosted)
    throw new DomainError('invalid_request', 'recording: only a video can be a recording.');
  const id = newId();
  const objectKey = `media/${owner.clubId}/${id}`;
  const expiresAt = uploadEnd(announced.mime, now);
  const stored = await db.transaction(async (tx) => {
    await mayReserve(tx);
    await reserveStorage(tx, owner.clubId, heldBytes, owner.studentId === undefined ? 'administrator' : 'person');
    if (owner.studentId === undefined) await requireFewUploads(tx, owner.clubId, way, now);
    const expiry = isHosted ? await requireVideoHosting(tx, owner.clubId, announced, now) : neverExpires;
    await tx.manager.insert(Media, {
      id,
      ...expiry,
      clubId: owner.clubId,
      purpose,
      ownerId: owner.studentId ?? null,
      kind: kindOf(announced.mime),
      title,
      provider: isHosted ? 'hostedvideo_stream' : 'objstore',
      status: 'uploading',
      fileName,
      mime: announced.mime,
      heldBytes: String(heldBytes),
      addressBytes: way === 'bucket' ? String(heldBytes) : null,
      objectKey,
      uploadExpiresAt: expiresAt,
      erasesAt: new Date(expiresAt.getTime() + mediaRules.completionMs),
      createdAt: now,
      updatedAt: now,
    });
    if (way !== 'bucket') await tx.manager.insert(MediaUpload, { id, clubId: owner.clubId });
    if (expiry.expiresAt !== null) await wake(tx, 'mediaExpiry', [{ id, clubId: owner.clubId }], now);
    return loadMedia(tx, owner, id);
  });
  if (!stored) throw new Error(`File ${id} was not found in the transaction that inserted it`);
  return {
    data: await presentMedia(stored, storage),
    upload: await descriptorOf(deps, { ...stored, heldBytes }, expiresAt, now),
  };
}

/** Returns the time at which an upload address expires after a reservation or a renewal. */
function uploadEnd(mime: string, now: Date): Date {
  return new Date(now.getTime() + (isResumable(mime) ? resumableRules.tokenMs : mediaRules.uploadMs));
}

/**
 * Returns a new address or token for a file that has not arrived, and gives the upload more time. Bytes that were already sent stay.
 * @param chargeChange called once, before the row changes
 * @throws DomainError not_found (also for a file of another owner), upload_ended, any error of `chargeChange`
 */
export async function renewUpload(
  deps: ReservationDeps,
  owner: MediaOwner,
  mediaId: Id,
  now: Date,
  chargeChange: () => Promise<void> = async () => {},
): Promise<Reservation> {
  return deps.db.transaction(async (tx) => {
    await tx.run(sql`SELECT FROM media WHERE id = ${mediaId} AND club_id = ${owner.clubId} FOR NO KEY UPDATE`);
    const stored = await loadMedia(tx, owner, mediaId);
    if (!stored) throw notFound('file');
    if (stored.status !== 'uploading') throw new RefusalToPerson('upload_ended', 'refusal.upload_ended');
    const last = stored.createdAt.getTime() + resumableRules.renewableMs;
    const expiresAt = new Date(Math.min(uploadEnd(stored.mime ?? '', now).getTime(), last));
    if (expiresAt <= now) throw new RefusalToPerson('upload_ended', 'refusal.upload_too_slow');
    await chargeChange();
    const erasesAt = new Date(expiresAt.getTime() + mediaRules.completionMs);
    const row = await tx.manager.findOneByOrFail(Media, { id: mediaId });
    const way = uploadWay(stored.purpose, stored.mime ?? '');
    const addressBytes = way === 'bucket' ? row.heldBytes : null;
    const changes = { uploadExpiresAt: expiresAt, addressBytes, erasesAt, updatedAt: now };
    await tx.manager.update(Media, { id: mediaId }, changes);
    // Versions up to 0.2.0 reserved files without this row.
    if (way === 'listener')
      await tx.run(sql`
        INSERT INTO media_uploads (id, club_id) VALUES (${mediaId}, ${owner.clubId}) ON CONFLICT (id) DO NOTHING`);
    const upload = await descriptorOf(deps, { ...stored, heldBytes: Number(row.heldBytes) }, expiresAt, now);
    return { data: await presentMedia(stored, deps.storage), upload };
  });
}

function namesOf({ fileName: announcedName, title }: AnnouncedFile): { fileName: string; title: string } {
  const fileName = tidyFileName(announcedName);
  if (fileName === undefined)
    throw new DomainError(
      'invalid_request',
      'file_name must be a plain name, without a path and without invisible characters.',
    );
  const tidy = tidyName(title ?? fileName);
  if (!hasVisible(tidy)) throw new DomainError('invalid_request', 'title must have a letter.');
  return { fileName, title: tidy };
}
