/**
 * Files that go: the row keeps their key until the bucket has said that they are gone. An address of the bucket outlives what
 * was put there. What is erased while it is good keeps its bytes held, and is erased again minutes after the end of the address, and
 * from then on until nothing can arrive any more (MED-29).
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

/** Files of a round, and how long a round goes on beginning with the next: its step has a minute, a file at most 40 s. */
const erasedARound = 200;
const roundMs = 10_000;
/** After the bucket has not answered. */
const againMs = 5 * 60_000;

/** A row that is removed keeps no words of anybody, and lies in no folder. An upload through our listener ends with it. */
const removal = (
  now: Date,
) => sql`removed_at = ${now}, updated_at = ${now}, title = '', file_name = NULL, folder_id = NULL,
  looks_at = NULL, lease_until = NULL,
  upload_expires_at = ${endOfAddress(now)},
  erases_at = CASE WHEN object_key IS NOT NULL THEN ${now}::timestamptz END`;

interface RemovalOptions {
  /** Ends the uses of the file; what automations that are published or under way use stays in use all the same. */
  force?: boolean;
}

/**
 * Takes a file out of the library; what agents have learnt from it goes with it.
 * @throws DomainError not_found, in_use (naming places)
 */
export async function removeMedia(
  deps: LibraryDeps,
  clubId: Id,
  mediaId: Id,
  now: Date,
  options: RemovalOptions = {},
): Promise<void> {
  await deps.db.transaction((tx) => removeMediaIn(tx, deps, { clubId, mediaId }, now, options));
  await eraseAtOnce(deps, mediaId, now);
}

/**
 * As `removeMedia`, in the caller's transaction, which holds the file's row and then the club's until it ends. The caller calls
 * `eraseAtOnce` when it has committed.
 * @throws DomainError not_found, in_use (naming places)
 */
export async function removeMediaIn(
  tx: Transaction,
  { mediaUses }: Pick<LibraryDeps, 'mediaUses'>,
  { clubId, mediaId }: { clubId: Id; mediaId: Id },
  now: Date,
  { force = false }: RemovalOptions,
): Promise<void> {
  // Not against foreign keys to it: whoever brings the agents' index in step writes such a one while it holds the club. Uses share the row.
  const held = await tx.rows(sql`SELECT 1 FROM media
    WHERE id = ${mediaId} AND club_id = ${clubId} AND purpose = 'library' AND removed_at IS NULL FOR NO KEY UPDATE`);
  if (held.length === 0) throw notFound('file');
  await endUses(tx, mediaUses, mediaId, force);
  await tx.run(sql`DELETE FROM media_favorites WHERE media_id = ${mediaId}`);
  await removeOne(tx, mediaId, now);
  await syncSources(tx, clubId, { mediaIds: [mediaId] }, now);
}

/** Erases what was removed, where the bucket answers; upkeep erases the rest. */
export async function eraseAtOnce(deps: MediaDeps, mediaId: Id, now: Date): Promise<void> {
  await eraseFile(deps, mediaId, now).catch(() => undefined);
}

/** Marks the row as removed, and the file as due. The caller holds the row, and calls `eraseAtOnce` when it has committed. */
export async function removeOne(tx: Transaction, mediaId: Id, now: Date): Promise<void> {
  await tx.run(sql`UPDATE media SET ${removal(now)} WHERE id = ${mediaId}`);
}

/**
 * What is used by nobody goes some days later: an image that no question shows, a file that is in no attempt or in no post.
 * @returns when it goes, unless it is used by then; null for the library
 */
export function unusedUntil(purpose: MediaPurpose, now: Date): Date | null {
  const { unusedImageMs, unsentFileMs } = mediaRules;
  const keptMs = {
    library: null,
    agent_image: unusedImageMs,
    assignment: unsentFileMs,
    post: unsentFileMs,
    avatar: null, // it is shown as soon as it is ready
  }[purpose];
  return keptMs === null ? null : new Date(now.getTime() + keptMs);
}

/** The student's row is held by the caller. Upkeep erases the files. */
export async function purgeStudentFromMedia(tx: Transaction, studentId: Id, now: Date): Promise<void> {
  await tx.run(sql`UPDATE media SET ${removal(now)} WHERE owner_id = ${studentId} AND removed_at IS NULL`);
}

/** Files of students that nothing shows any more, for good. @param which selects their ids. Upkeep erases the files. */
export async function removeFiles(tx: Transaction, which: Sql, now: Date): Promise<void> {
  await tx.run(sql`UPDATE media SET ${removal(now)} WHERE id IN (${which}) AND removed_at IS NULL`);
}

const unfinished = sql`status IN ('uploading', 'processing')`;

export interface ErasureCounts {
  /** Files that the bucket was asked to erase, and has. */
  erased: number;
  /** Files that it has not; they come again some minutes later. */
  refused: number;
}

/**
 * Erases what is due, a round of it. Repetition and company do no harm: what is gone already is erased again.
 * @returns what it did, and whether there may be more to do at once
 */
export async function eraseDue(deps: MediaDeps, now: Date): Promise<ErasureCounts & { more: boolean }> {
  const { db } = deps;
  const due = await db.rows<{ id: Id }>(
    sql`SELECT id FROM media WHERE erases_at <= ${now} ORDER BY erases_at LIMIT ${erasedARound}`,
  );
  const ends = performance.now() + roundMs;
  const counts = { erased: 0, refused: 0 };
  for (const { id } of due) {
    if (performance.now() > ends) return { ...counts, more: true };
    try {
      await eraseFile(deps, id, now);
      counts.erased += 1;
    } catch {
      const again = new Date(now.getTime() + againMs);
      await db.run(sql`UPDATE media SET erases_at = ${again} WHERE id = ${id} AND erases_at <= ${now}`);
      counts.refused += 1;
    }
  }
  return { ...counts, more: due.length === erasedARound };
}

/**
 * Has the bucket erase the file of a row that is due: one that failed, was removed, or whose upload nobody completed in time,
 * which has failed then; or an image that no question has shown in time, or a file that nobody has sent, which is removed then. A
 * completion, a question or a submission that comes at the same moment finds it so, or was first. The club's storage counts the file
 * until the bucket has erased it (MED-20), and holds its bytes until its address has ended (MED-21).
 * @throws whatever the store throws; the row is due as before then
 */
export async function eraseFile(deps: MediaDeps, mediaId: Id, now: Date): Promise<void> {
  const { db, storage } = deps;
  await settleAtDeadline(deps, mediaId, now);
  // Of what is ready and stands, what is unused is ever due.
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
    await storage.removeUnder(`${key}.`); // its renditions, and what of an upload was smaller than a part
    await db.manager.delete(MediaUpload, { id: mediaId });
  }
  const { lateMs, arrivalMs } = mediaRules;
  const lastArrival = sql`upload_expires_at + ${arrivalMs} * interval '1 millisecond'`;
  // 5, 10, 20, 40 … minutes after the end of the address: what began in time and ends so much later is gone before as long again.
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
 * A resumable upload whose parts are all there has arrived, although nobody has said so: its client, and the process that got the last
 * part, may have died (MED-26).
 */
async function settleAtDeadline(deps: MediaDeps, mediaId: Id, now: Date): Promise<void> {
  const due = await deps.db.one<ArrivingFile>(sql`
    SELECT media.id, media.club_id AS "clubId", purpose, mime, object_key AS "objectKey"
      FROM media JOIN media_uploads upload ON upload.id = media.id
     WHERE media.id = ${mediaId} AND erases_at <= ${now} AND status = 'uploading' AND removed_at IS NULL AND multipart_id IS NOT NULL`);
  if (due) await settleArrival(deps, due, now);
}
