/** Uploads as they end: somebody says that the file is there, and it is looked at. */
import { IsNull } from 'typeorm';
import { Media } from '../../entities/media/media.ts';
import type { RecordOf } from '../../contract/contract.ts';
import { syncSources } from '../knowledge/sources.ts';
import type { Database } from '../../platform/infra/postgres/database.ts';
import { DomainError, notFound } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import { eraseFile } from './erasure.ts';
import { inspect, type Finding } from './inspection.ts';
import { mediaRules } from './media.policy.ts';
import { loadMedia, presentMedia, type MediaOwner, type MediaDeps, type StoredMedia } from './media.ts';

/**
 * Looks at a file that was put there, and says what it is: `ready`, or `failed` with the reason, and then it is erased.
 * What has been looked at once is not looked at again. No file can take its place meanwhile: the store lets only one be
 * put there ({@link MediaDeps.storage}, `signPut`), and only a row that is `failed` or removed already has it erased.
 * @throws DomainError not_found (also for somebody else's), upload_missing (no file is there yet)
 */
export async function completeMedia(
  deps: MediaDeps,
  owner: MediaOwner,
  mediaId: Id,
  now: Date,
): Promise<RecordOf<'Media'>> {
  const { db, storage } = deps;
  const stored = await findStored(db, owner, mediaId);
  if (stored.status !== 'uploading') return presentMedia(stored, storage);
  const finding = await inspect(storage, stored);
  if (finding) await record(db, stored, finding, now);
  const found = await findStored(db, owner, mediaId); // somebody else may have been first
  if (found.status === 'uploading')
    throw new DomainError('upload_missing', 'No file has arrived yet. Put it to the address of its upload.');
  if (found.status === 'failed') {
    // At once, where that goes: the row says that it is still to be done, and upkeep does it otherwise.
    await eraseFile(deps, mediaId, now).catch(() => undefined);
  }
  return presentMedia(found, storage);
}

/** @throws DomainError not_found */
async function findStored(db: Database, owner: MediaOwner, mediaId: Id): Promise<StoredMedia> {
  const stored = await loadMedia(db, owner, mediaId);
  if (!stored) throw notFound(owner.studentId === undefined ? 'file' : 'image');
  return stored;
}

/** An image goes some days later, unless a question shows it by then (agent-images.ts). */
const unusedImageEnds = (now: Date) => new Date(now.getTime() + mediaRules.unusedImageMs);

/** Of several who complete it at once, the first says what it is; the others have found the same. */
async function record(db: Database, { id, clubId, purpose }: StoredMedia, finding: Finding, now: Date): Promise<void> {
  const unknown = { error: null, mime: null, kind: null, width: null, height: null };
  const { error, sizeBytes, mime, kind, width, height } = { ...unknown, ...finding };
  await db.transaction(async (tx) => {
    const { affected } = await tx.manager.update(
      Media,
      { id, status: 'uploading', removedAt: IsNull() },
      {
        status: error === null ? 'ready' : 'failed',
        error,
        sizeBytes: String(sizeBytes),
        ...(mime !== null && { mime }),
        ...(kind !== null && { kind }),
        width,
        height,
        updatedAt: now,
        erasesAt: error !== null ? now : purpose === 'agent_image' ? unusedImageEnds(now) : null,
      },
    );
    if (affected !== 0 && purpose === 'library') await syncSources(tx, clubId, { mediaIds: [id] }, now);
  });
}
