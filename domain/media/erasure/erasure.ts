/**
 * Removes files and erases them from the bucket. The row keeps the key of the object until the bucket confirms the erasure. After a
 * removal, the signed upload address may stay valid, and the bytes that may arrive still count for the club's storage. The object is erased
 * again some minutes after the address expires, and then at growing intervals, until no upload can arrive any more (MED-29).
 */
import { syncSources } from '../../knowledge/sources.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql, type Sql } from '../../../platform/infra/postgres/sql.ts';
import { notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { MediaUpload } from '../../../entities/media/media-upload.ts';
import type { MediaPurpose } from '../../../entities/media/values.ts';
import { endOfAddress, settleArrival, type ArrivingFile } from '../storage/arrival.ts';
import { mediaRules } from '../media.policy.ts';
import type { LibraryDeps, MediaDeps } from '../media.ts';
import { endUses } from '../uses/uses.ts';

/** The step has a time limit of one minute, and a file takes at most 40 s. */
const filesPerRound = 200;
const roundMs = 10_000;
/** The time until the next try, if the bucket did not answer. */
const retryMs = 5 * 60_000;

/**
 * The SET clauses that remove a file. They delete the file's texts and its folder. If the bytes of the file are uploaded through our own
 * listener, the clauses also end this upload.
 */
const removal = (
  now: Date,
) => sql`removed_at = ${now}, updated_at = ${now}, title = '', file_name = NULL, folder_id = NULL,
  looks_at = NULL, lease_until = NULL,
  upload_expires_at = ${endOfAddress(now)},
  erases_at = CASE WHEN object_key IS NOT NULL THEN ${now}::timestamptz END`;

interface RemovalOptions {
  /** Whether the removal also ends the uses of the file. Uses by an automation that is published or has runs never end in this way. */
  force?: boolean;
}

/**
 * Removes a file from the library, and its passages from the agents' index.
 * @throws DomainError not_found, in_use (the message names records that use the file)
 */
export async function removeMedia(
  deps: LibraryDeps,
  clubId: Id,
  mediaId: Id,
  now: Date,
  options: RemovalOptions = {},
): Promise<void> {
  await deps.db.transaction((tx) => removeMediaIn(tx, deps, { clubId, mediaId }, now, options));
  await eraseImmediately(deps, mediaId, now);
}

/**
 * Removes a file like `removeMedia`, in the caller's transaction, which then holds the locks of the file's and the club's row. After the
 * commit, the caller calls `eraseImmediately`.
 * @throws DomainError not_found, in_use (the message names records that use the file)
 */
export async function removeMediaIn(
  tx: Transaction,
  { mediaUses }: Pick<LibraryDeps, 'mediaUses'>,
  { clubId, mediaId }: { clubId: Id; mediaId: Id },
  now: Date,
  { force = false }: RemovalOptions,
): Promise<void> {
  // Locks the row with NO KEY, so that other transactions can still insert foreign keys to the file. `syncSources` inserts such keys while
  // it holds the club's lock. A transaction that adds a use of the file takes a shared lock on the row, so that transaction must wait.
  const lockedFiles = await tx.rows(sql`SELECT 1 FROM media
    WHERE id = ${mediaId} AND club_id = ${clubId} AND purpose = 'library' AND removed_at IS NULL FOR NO KEY UPDATE`);
  if (lockedFiles.length === 0) throw notFound('file');
  await endUses(tx, mediaUses, mediaId, force);
  await tx.run(sql`DELETE FROM media_favorites WHERE media_id = ${mediaId}`);
  await removeOne(tx, mediaId, now);
  await syncSources(tx, clubId, { mediaIds: [mediaId] }, now);
}

/** Erases a removed file immediately. If the bucket does not answer, maintenance erases the file later. */
export async function eraseImmediately(deps: MediaDeps, mediaId: Id, now: Date): Promise<void> {
  await eraseFile(deps, mediaId, now).catch(() => undefined);
}

/**
 * Marks the row as removed, and the file as due for erasure. The caller holds the row's lock, and calls `eraseImmediately` after the
 * commit.
 */
export async function removeOne(tx: Transaction, mediaId: Id, now: Date): Promise<void> {
  await tx.run(sql`UPDATE media SET ${removal(now)} WHERE id = ${mediaId}`);
}

/**
 * Returns when an unused file is removed: an image that no question shows, or a file that belongs to no attempt or post.
 * @returns null for files of the library and avatars. A file that is used before this time stays
 */
export function unusedUntil(purpose: MediaPurpose, now: Date): Date | null {
  const { unusedImageMs, unsentFileMs } = mediaRules;
  const unusedMs = {
    library: null,
    agent_image: unusedImageMs,
    assignment: unsentFileMs,
    post: unsentFileMs,
    avatar: null, // an avatar counts as used as soon as it is ready
  }[purpose];
  return unusedMs === null ? null : new Date(now.getTime() + unusedMs);
}

/** Removes all files of a student. The caller holds the lock of the student's row. Maintenance erases the files. */
export async function purgeStudentFromMedia(tx: Transaction, studentId: Id, now: Date): Promise<void> {
  await tx.run(sql`UPDATE media SET ${removal(now)} WHERE owner_id = ${studentId} AND removed_at IS NULL`);
}

/**
 * Removes files of students. Upkeep then erases them from the bucket.
 * @param which selects the ids of the files
 */
export async function removeFiles(tx: Transaction, which: Sql, now: Date): Promise<void> {
  await tx.run(sql`UPDATE media SET ${removal(now)} WHERE id IN (${which}) AND removed_at IS NULL`);
}

const unfinished = sql`status IN ('uploading', 'processing')`;

export interface ErasureCounts {
  erased: number;
  /** The number of files that the bucket has not erased. These files are due again some minutes later. */
  refused: number;
}

/**
 * Erases the files that are due, in one round. Repeated and parallel rounds do no harm.
 * @returns the counts, and whether another round may be due immediately
 */
export async function eraseDue(deps: MediaDeps, now: Date): Promise<ErasureCounts & { more: boolean }> {
  const { db } = deps;
  const due = await db.rows<{ id: Id }>(
    sql`SELECT id FROM media WHERE erases_at <= ${now} ORDER BY erases_at LIMIT ${filesPerRound}`,
  );
  const ends = performance.now() + roundMs;
  const counts = { erased: 0, refused: 0 };
  for (const { id } of due) {
    if (performance.now() > ends) return { ...counts, more: true };
    try {
      await eraseFile(deps, id, now);
      counts.erased += 1;
    } catch {
      const again = new Date(now.getTime() + retryMs);
      await db.run(sql`UPDATE media SET erases_at = ${again} WHERE id = ${id} AND erases_at <= ${now}`);
      counts.refused += 1;
    }
  }
  return { ...counts, more: due.length === filesPerRound };
}

/**
 * Erases the file of a due row from the bucket. A row is due in three cases. First, its file failed or was removed. Second, its upload was
 * not completed in time; this function then sets the upload to failed. Third, the file is unused: no question showed the image in time, or
 * the file was not sent with a submission in time. This function then removes the file. A completion, a question or a submission may use
 * the file at the same time. Its transaction either commits first or sees that the file was removed. The club's storage counts the file
 * until the bucket has erased it (MED-20), and the reserved bytes until the address expires (MED-21).
 * @throws any error of the store; the row then stays due
 */
export async function eraseFile(deps: MediaDeps, mediaId: Id, now: Date): Promise<void> {
  const { db, storage } = deps;
  await settleAtDeadline(deps, mediaId, now);
  // A ready file that is due was not removed before, so it is unused and is removed now.
  await db.run(
    sql`UPDATE media SET ${removal(now)} WHERE id = ${mediaId} AND erases_at <= ${now} AND status = 'ready' AND removed_at IS NULL`,
  );
  const due = await db.rows<{ key: string }>(sql`UPDATE media
        SET status = CASE WHEN ${unfinished} THEN 'failed' ELSE status END,
            error = CASE WHEN ${unfinished} THEN 'upload_expired' ELSE error END,
            updated_at = CASE WHEN ${unfinished} THEN ${now} ELSE updated_at END, looks_at = NULL, lease_until = NULL
      WHERE id = ${mediaId} AND erases_at <= ${now} RETURNING object_key AS key`);
  for (const { key } of due) {
    await storage.remove(key);
    await storage.removeUnder(`${key}.`); // removes the renditions, and the received bytes that did not fill a whole part
    await db.manager.delete(MediaUpload, { id: mediaId });
  }
  const { lateMs, arrivalMs } = mediaRules;
  const lastArrival = sql`upload_expires_at + ${arrivalMs} * interval '1 millisecond'`;
  // The object is erased 5, 10, 20, 40 … minutes after the address expires. So a late upload is erased soon. For example, an upload that
  // ends 15 minutes after the expiry is erased at the latest 30 minutes after the expiry.
  const sinceItsEnd = sql`greatest(2 * (${now}::timestamptz - upload_expires_at), ${lateMs} * interval '1 millisecond')`;
  const again = sql`least(${lastArrival}, upload_expires_at + ${sinceItsEnd})`;
  const isAddressGood = sql`upload_expires_at + ${lateMs} * interval '1 millisecond' > ${now}`;
  await db.run(sql`
    UPDATE media SET erased_at = coalesce(erased_at, ${now}),
                     erases_at = CASE WHEN ${lastArrival} > ${now} THEN ${again} END,
                     object_key = CASE WHEN ${lastArrival} > ${now} THEN object_key END,
                     address_bytes = CASE WHEN ${isAddressGood} THEN address_bytes END
     WHERE id = ${mediaId} AND erases_at <= ${now}`);
}

/**
 * Settles a resumable upload if all its parts have arrived but no call has settled the upload yet. This happens if the client died, and the
 * process that received the last part died, too (MED-26).
 */
async function settleAtDeadline(deps: MediaDeps, mediaId: Id, now: Date): Promise<void> {
  const due = await deps.db.one<ArrivingFile>(sql`
    SELECT media.id, media.club_id AS "clubId", purpose, mime, object_key AS "objectKey"
      FROM media JOIN media_uploads upload ON upload.id = media.id
     WHERE media.id = ${mediaId} AND erases_at <= ${now} AND status = 'uploading' AND removed_at IS NULL AND multipart_id IS NOT NULL`);
  if (due) await settleArrival(deps, due, now);
}
