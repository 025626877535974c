/** Uploads as they end: somebody says that the file is there, and the worker processes it (MED-16). */
import { setTimeout as sleep } from 'node:timers/promises';
import type { RecordOf } from '../../contract/contract.ts';
import type { Database, Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { DomainError, notFound } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import { wake } from '../../platform/engine/wakes.ts';
import { eraseFile } from './erasure.ts';
import { maxBytes, processingRules, type MediaError } from './media.policy.ts';
import { settleStorage } from './storage.ts';
import { loadMedia, presentMedia, type MediaOwner, type MediaDeps, type StoredMedia } from './media.ts';

export interface CompletionDeps extends MediaDeps {
  /** Milliseconds for which a call watches the file that it has completed. */
  watchMs: number;
}

/**
 * Takes note that a file has arrived, which starts its processing, and watches it for a moment. No other file can take its place
 * meanwhile: the store lets only one be put there ({@link MediaDeps.storage}, `signPut`), and only a row that is `failed` or
 * removed has it erased. A file that is larger than its announced type may be, or for which the club
 * has no room, has failed at once.
 * @param chargeChange called once, by the call that changes something; what it throws leaves the upload as it was
 * @returns the record: `ready`, `failed`, still `processing`, or `uploading` where another call is about to change it
 * @throws DomainError not_found (also for somebody else's), upload_missing (no file is there yet), what `chargeChange` throws
 */
export async function completeMedia(
  deps: CompletionDeps,
  owner: MediaOwner,
  mediaId: Id,
  now: Date,
  chargeChange: () => Promise<void> = async () => {},
): Promise<RecordOf<'Media'>> {
  const { db, storage, watchMs } = deps;
  const stored = await findStored(db, owner, mediaId);
  if (stored.status !== 'uploading') return presentMedia(await watch(db, owner, mediaId, watchMs), storage);
  const sizeBytes = stored.objectKey === null ? undefined : await storage.size(stored.objectKey);
  if (sizeBytes === undefined) {
    const erased = await findStored(db, owner, mediaId); // or completed and erased, meanwhile
    if (erased.status === 'uploading') throw uploadMissing();
    return presentMedia(erased, storage);
  }
  if ((await arrive(db, stored, sizeBytes, now, chargeChange)) === 'failed')
    await eraseFile(deps, mediaId, now).catch(() => undefined); // at once, where that goes; else upkeep does
  return presentMedia(await watch(db, owner, mediaId, watchMs), storage);
}

const uploadMissing = () =>
  new DomainError('upload_missing', 'No file has arrived yet. Put it to the address of its upload.');

/** @throws DomainError not_found */
async function findStored(db: Queries, owner: MediaOwner, mediaId: Id): Promise<StoredMedia> {
  const stored = await loadMedia(db, owner, mediaId);
  if (!stored) throw notFound('file');
  return stored;
}

/**
 * One transaction for size, storage (MED-21), status and wake. Of several calls one has the row; the others do not wait for it, so that
 * they hold no connection, and change nothing.
 */
async function arrive(
  db: Database,
  { id, clubId, purpose, mime }: StoredMedia,
  sizeBytes: number,
  now: Date,
  chargeChange: () => Promise<void>,
): Promise<'processing' | 'failed' | 'too late'> {
  return db.transaction(async (tx) => {
    const isMine = await tx.one(sql`
      SELECT FROM media WHERE id = ${id} AND status = 'uploading' AND removed_at IS NULL FOR NO KEY UPDATE SKIP LOCKED`);
    if (!isMine) return 'too late';
    await chargeChange();
    const error = await refusalOf(tx, { id, clubId }, { sizeBytes, maxBytes: maxBytes(purpose, mime ?? '') }, now);
    const becomes = error
      ? sql`status = 'failed', error = ${error}, erases_at = ${now}`
      : sql`status = 'processing', looks_at = ${now}, erases_at = NULL`; // what is processed does not expire
    await tx.run(sql`UPDATE media SET ${becomes}, updated_at = ${now} WHERE id = ${id}`);
    if (error) return 'failed';
    await wake(tx, 'mediaProcessing', [{ id, clubId }], now);
    return 'processing';
  });
}

/** Settles the size. @returns why the file cannot stay, whatever it is */
async function refusalOf(
  tx: Transaction,
  file: { id: Id; clubId: Id },
  { sizeBytes, maxBytes: most }: { sizeBytes: number; maxBytes: number },
  now: Date,
): Promise<MediaError | undefined> {
  if (sizeBytes > most) return 'too_large';
  return (await settleStorage(tx, file, sizeBytes, now)) ? undefined : 'storage_full';
}

const isUnderWay = ({ status }: StoredMedia) => status === 'uploading' || status === 'processing';

/** Calls that watch in this process. */
let watching = 0;
/** Between two looks, in milliseconds: the first ones find small files, the later ones cost little. */
const looks = [40, 60, 100, 150, 200] as const;

/** Looks at a file until its processing has ended or the time is over. @throws DomainError not_found */
async function watch(db: Queries, owner: MediaOwner, mediaId: Id, watchMs: number): Promise<StoredMedia> {
  let stored = await findStored(db, owner, mediaId);
  if (watching >= processingRules.maxWatching) return stored;
  const ends = performance.now() + watchMs;
  watching += 1;
  try {
    for (let look = 0; isUnderWay(stored); look++) {
      const pause = looks[Math.min(look, looks.length - 1)] as number;
      if (performance.now() + pause > ends) break;
      await sleep(pause);
      stored = await findStored(db, owner, mediaId);
    }
    return stored;
  } finally {
    watching -= 1;
  }
}
