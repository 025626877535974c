/** A file that has arrived: whoever notices it settles it, once (MED-16). */
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

/** What of a file decides about it. */
export interface ArrivingFile {
  id: Id;
  clubId: Id;
  purpose: MediaPurpose;
  mime: string | null;
  objectKey: string | null;
}

/** `missing`: it is not there, or not all of it; `too late`: somebody else has settled it, or does so now. */
type Arrival = 'processing' | 'failed' | 'missing' | 'too late';

/**
 * Asks the store for the size, and settles it. The parts of a resumable upload become the file here, where the process that got the
 * last one could not see to it (MED-26).
 * @param chargeChange called once, by the call that changes something; what it throws leaves the upload as it was
 * @throws whatever the store throws
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

/** While somebody else joins the parts, a store may have neither them nor the file: it is asked again after so many milliseconds. */
const joiningMs = [0, 100, 400, 1_000] as const;

/** @returns undefined where not all of the file is there */
async function sizeOf({ db, storage }: MediaDeps, id: Id, objectKey: string): Promise<number | undefined> {
  const whole = await storage.size(objectKey);
  const upload = await openUploadOf(db, id);
  // What a process that died has left of a file is none: its length was said before the first byte (MED-29).
  if (whole !== undefined) return upload && whole !== Number(upload.length) ? undefined : whole;
  if (!upload || upload.multipartId === null) return undefined;
  const joining = await storage.joinParts(objectKey, upload.multipartId, Number(upload.length));
  if (joining === 'incomplete') return undefined;
  for (const pauseMs of joiningMs) {
    await sleep(pauseMs);
    const joined = await storage.size(objectKey);
    if (joined !== undefined) return joined;
  }
  return undefined;
}

/** @returns undefined where nobody has said how long the file is to be, or its bytes do not pass our listener */
function openUploadOf(db: Queries, id: Id): Promise<{ multipartId: string | null; length: string } | undefined> {
  return db.one(sql`
    SELECT multipart_id AS "multipartId", held_bytes AS length FROM media_uploads JOIN media ON media.id = media_uploads.id
     WHERE media.id = ${id} AND held_bytes > 0`);
}

/**
 * Of a row of `media`, its `upload_expires_at` once nothing may be uploaded any more. What passes our listener ends then; an address of
 * the bucket stays good until its time.
 */
export function endOfAddress(now: Date): Sql {
  return sql`CASE WHEN EXISTS (SELECT FROM media_uploads WHERE media_uploads.id = media.id)
    THEN least(upload_expires_at, ${now}::timestamptz) ELSE upload_expires_at END`;
}

/**
 * One transaction for size, storage (MED-21), status and wake. Of several calls one has the row; the others do not wait for it, so that
 * they hold no connection, and change nothing.
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
      : sql`status = 'processing', size_bytes = ${sizeBytes}, looks_at = ${now}, erases_at = NULL`; // what is processed does not expire
    await tx.run(sql`
      UPDATE media SET ${becomes}, upload_expires_at = ${endOfAddress(now)}, updated_at = ${now} WHERE id = ${id}`);
    await tx.manager.delete(MediaUpload, { id });
    if (error) return 'failed';
    await wake(tx, 'mediaProcessing', [{ id, clubId }], now);
    return 'processing';
  });
}

/** @returns why the file cannot stay, whatever it is */
async function refusalOf(
  tx: Transaction,
  file: { id: Id; clubId: Id },
  { sizeBytes, maxBytes: most }: { sizeBytes: number; maxBytes: number },
  now: Date,
): Promise<MediaError | undefined> {
  if (sizeBytes > most) return 'too_large';
  return (await admitFile(tx, file, sizeBytes, now)) ? undefined : 'storage_full';
}
