/** Uploads as they end: somebody says that the file is there, and the worker processes it (MED-16). */
import { setTimeout as sleep } from 'node:timers/promises';
import type { RecordOf } from '../../../contract/contract.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { settleArrival, type ArrivingFile } from '../storage/arrival.ts';
import { eraseFile } from '../erasure/erasure.ts';
import { processingRules } from '../media.policy.ts';
import { loadMedia, presentMedia, type MediaOwner, type MediaDeps, type StoredMedia } from '../media.ts';
import { RefusalToPerson } from '../../language/refusal.ts';

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
  const arrival = await settleArrival(deps, stored, now, chargeChange);
  if (arrival === 'missing') {
    const erased = await findStored(db, owner, mediaId); // or completed and erased, meanwhile
    if (erased.status === 'uploading') throw uploadMissing();
    return presentMedia(erased, storage);
  }
  if (arrival === 'failed') await eraseFile(deps, mediaId, now).catch(() => undefined); // at once, where that goes; else upkeep does
  return presentMedia(await watch(db, owner, mediaId, watchMs), storage);
}

/**
 * Takes note of a resumable upload whose last part has come. It is safe to leave out: `complete` and the deadline of the upload notice
 * the file as well (MED-26).
 * @throws whatever the store throws
 */
export async function noticeUpload(deps: MediaDeps, file: ArrivingFile, now: Date): Promise<void> {
  if ((await settleArrival(deps, file, now)) === 'failed') await eraseFile(deps, file.id, now);
}

const uploadMissing = () => new RefusalToPerson('upload_missing', 'refusal.file_not_arrived');

/** @throws DomainError not_found */
async function findStored(db: Queries, owner: MediaOwner, mediaId: Id): Promise<StoredMedia> {
  const stored = await loadMedia(db, owner, mediaId);
  if (!stored) throw notFound('file');
  return stored;
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
