/** Records that an uploaded file has arrived. The first process that notices the file does this, and only once (MED-16). */
import { setTimeout as sleep } from 'node:timers/promises';
import { MediaUpload } from '../../../entities/media/media-upload.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql, type Sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { wake } from '../../../platform/engine/wakes.ts';
import type { MediaPurpose } from '../../../entities/media/values.ts';
import { maxBytes, type MediaError } from '../media.policy.ts';
import type { MediaDeps } from '../media.ts';
import { admitFile } from './storage.ts';

/** The columns that decide about an arrival. */
export interface ArrivingFile {
  id: Id;
  clubId: Id;
  purpose: MediaPurpose;
  mime: string | null;
  objectKey: string | null;
}

/** `missing`: the file has not arrived completely. `too late`: another process settles the arrival. */
type Arrival = 'processing' | 'failed' | 'missing' | 'too late';

/**
 * Reads the size from the store, and settles the arrival. Also joins the parts of a resumable upload, if the process of the last part has
 * not (MED-26).
 * @param chargeChange called once, by the call that changes the row. If it throws, the upload stays unchanged
 * @throws any error of the store
 */
export async function settleArrival(
  deps: MediaDeps,
  file: ArrivingFile,
  now: Date,
  chargeChange: () => Promise<void> = async () => {},
): Promise<Arrival> {
  const sizeBytes = file.objectKey === null ? undefined : await sizeOf(deps, file.id, file.objectKey);
  return sizeBytes === undefined ? 'missing' : arrive(deps, file, sizeBytes, now, chargeChange);
}

/**
 * The waits before the tries to find the file in the store, in milliseconds. While another process joins the parts of an upload, the store
 * may have neither the parts nor the file.
 */
const joiningMs = [0, 100, 400, 1_000] as const;

/** @returns undefined if the file has not arrived completely */
async function sizeOf({ db, storage }: MediaDeps, id: Id, objectKey: string): Promise<number | undefined> {
  const whole = await storage.size(objectKey);
  const upload = await openUploadOf(db, id);
  // If a process died, the store may have only a part of the file. The function detects this by a comparison with the announced length
  // (MED-29).
  if (whole !== undefined) return upload && whole !== Number(upload.length) ? undefined : whole;
  if (!upload || upload.multipartId === null) return undefined;
  const joining = await storage.joinParts(objectKey, upload.multipartId, Number(upload.length));
  if (joining === 'incomplete') return undefined;
  for (const pauseMs of joiningMs) {
    await sleep(pauseMs);
    const sizeBytes = await storage.size(objectKey);
    if (sizeBytes !== undefined) return sizeBytes;
  }
  return undefined;
}

/** @returns undefined if the client has announced no length, or does not upload through our listener */
function openUploadOf(db: Queries, id: Id): Promise<{ multipartId: string | null; length: string } | undefined> {
  return db.one(sql`
    SELECT multipart_id AS "multipartId", held_bytes AS length FROM media_uploads JOIN media ON media.id = media_uploads.id
     WHERE media.id = ${id} AND held_bytes > 0`);
}

/**
 * The value of `upload_expires_at` after an upload: now, if it went through our listener. An address of the bucket stays valid until it
 * expires, so the value does not change.
 */
export function endOfAddress(now: Date): Sql {
  return sql`CASE WHEN EXISTS (SELECT FROM media_uploads WHERE media_uploads.id = media.id)
    THEN least(upload_expires_at, ${now}::timestamptz) ELSE upload_expires_at END`;
}

/**
 * In one transaction, writes the size and the status, changes the club's storage (MED-21), and wakes the processing. If several calls run
 * at the same time, the first call locks the row. The other calls change nothing and return without waiting for the lock, because a waiting
 * call would occupy a connection.
 */
async function arrive(
  { db }: MediaDeps,
  { id, clubId, purpose, mime }: ArrivingFile,
  sizeBytes: number,
  now: Date,
  chargeChange: () => Promise<void>,
): Promise<Arrival> {
  return db.transaction(async (tx) => {
    const isMine = await tx.one(sql`
      SELECT FROM media WHERE id = ${id} AND status = 'uploading' AND removed_at IS NULL FOR NO KEY UPDATE SKIP LOCKED`);
    if (!isMine) return 'too late';
    await chargeChange();
    const error = await refusalOf(tx, { id, clubId }, { sizeBytes, maxBytes: maxBytes(purpose, mime ?? '') }, now);
    const becomes = error
      ? sql`status = 'failed', error = ${error}, erases_at = ${now}`
      : sql`status = 'processing', size_bytes = ${sizeBytes}, looks_at = ${now}, erases_at = NULL`; // files being processed do not expire
    await tx.run(sql`
      UPDATE media SET ${becomes}, upload_expires_at = ${endOfAddress(now)}, updated_at = ${now} WHERE id = ${id}`);
    await tx.manager.delete(MediaUpload, { id });
    if (error) return 'failed';
    await wake(tx, 'mediaProcessing', [{ id, clubId }], now);
    return 'processing';
  });
}

/** @returns the reason why the file's size is refused; undefined if the size is accepted */
async function refusalOf(
  tx: Transaction,
  file: { id: Id; clubId: Id },
  { sizeBytes, maxBytes: most }: { sizeBytes: number; maxBytes: number },
  now: Date,
): Promise<MediaError | undefined> {
  if (sizeBytes > most) return 'too_large';
  return (await admitFile(tx, file, sizeBytes, now)) ? undefined : 'storage_full';
}
