/** Completes uploads: the caller reports the arrival of a file, and a worker processes it (MED-16). */
import { setTimeout as sleep } from 'node:timers/promises';
import type { RecordOf } from '../../../contract/contract.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { settleArrival, type ArrivingFile } from '../storage/arrival.ts';
import { eraseFile } from '../erasure/erasure.ts';
import { processingRules } from '../processing.policy.ts';
import { loadMedia, presentMedia, type MediaOwner, type MediaDeps, type StoredMedia } from '../media.ts';
import { RefusalToPerson } from '../../language/refusal.ts';

export interface CompletionDeps extends MediaDeps {
  /** The maximum number of milliseconds for which a call waits for the processing of the file. */
  watchMs: number;
}

/**
 * Records that a file has arrived, which starts the processing of the file. Then it waits a moment for the result. The object cannot be
 * replaced after it has arrived. The store accepts only one upload for each key ({@link MediaDeps.storage}, `signPut`), and only the object
 * of a failed or removed file is erased. A file that is too large for its announced type, or for the club's storage, fails immediately.
 * @param chargeChange called once, by the call that changes the row. If it throws, the upload stays unchanged
 * @returns the record: `ready`, `failed`, still `processing`, or `uploading` if another call is about to change it
 * @throws DomainError not_found (also for a file of another owner), upload_missing (no file has arrived), any error of `chargeChange`
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
    const current = await findStored(db, owner, mediaId); // another call may have completed the upload, and the file may be erased
    if (current.status === 'uploading') throw uploadMissing();
    return presentMedia(current, storage);
  }
  if (arrival === 'failed') await eraseFile(deps, mediaId, now).catch(() => undefined); // if this fails, maintenance erases the file
  return presentMedia(await watch(db, owner, mediaId, watchMs), storage);
}

/**
 * Records that the last part of a resumable upload has arrived. If this function is not called, the service still notices the file: when
 * the caller completes the upload, or at the upload's deadline (MED-26).
 * @throws any error of the store
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

/** The number of calls in this process that wait for a file. */
let watching = 0;
/** In milliseconds. The first waits are short, because small files are ready soon. */
const looks = [40, 60, 100, 150, 200] as const;

/** Reads the file's row until the processing has ended or the time is over. @throws DomainError not_found */
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
