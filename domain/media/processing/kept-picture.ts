/**
 * Processes images for agents and avatars. The service keeps only an upright picture without metadata, which it makes of the image (MED-22,
 * MED-28).
 */
import type { Box } from '../../../platform/infra/images/pictures.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { type ImageType } from '../media.policy.ts';
import { isKeptAsPicture, processingRules } from '../processing.policy.ts';
import type { FileClaim } from './claims.ts';
import { asAway, contentsOf, type Contents } from './contents.ts';
import { digestWhole } from './digest.ts';
import { recordEnd, recordFailure, recordMissing, recordPicture, recordReady } from './record.ts';
import { eraseUnrecorded, makeRenditions } from './renditions.ts';
import type { ProcessingDeps } from './step.ts';

export const hasPicture = ({ purpose, renditions }: FileClaim) =>
  isKeptAsPicture(purpose) && renditions?.preview !== undefined;

/**
 * Makes the picture that replaces the original. A later step empties the object of the original. The empty object keeps its key, so that
 * the upload address accepts no other file (ADR 15). Old releases gave some originals the status `ready` and signed addresses for these
 * originals. For such an original, the later step waits until these addresses expire. If such an original cannot be decoded, the service
 * keeps the original, because a question may show it.
 * @returns the reason why the file must wait
 * @throws LeaseLost, StoreAway, the signal's reason, and faults of ours
 */
export async function keepPicture(
  deps: ProcessingDeps,
  claim: FileClaim,
  contents: Contents,
  { box, signal, tell, now }: { box: Box; signal: AbortSignal; tell: (words: string) => void; now: Date },
): Promise<'turn' | 'addresses' | undefined> {
  const { db, storage } = deps;
  const wasReady = claim.status === 'ready';
  tell('renditions');
  const [picture] = await makeRenditions(deps, contents, claim, { preview: box });
  await deps.failpoint('file_rendered');
  if (!picture) {
    const digest = await digestWhole(contents, claim, signal); // the picture cannot be made although the whole file can be read
    if (wasReady) await recordMissing(db, claim, { digest, result: { renditions: [] }, dueAt: null }, now);
    else await recordFailure(db, claim, 'image_broken', now);
    return undefined;
  }
  tell('checksums');
  const { key, sizeBytes, width, height } = picture;
  const digest = await digestWhole(contentsOf(storage, key), { sizeBytes }, signal);
  await eraseUnrecorded(deps, claim, [picture]);
  if (wasReady) {
    const emptiesAt = new Date(now.getTime() + processingRules.emptyAfterMs);
    await recordPicture(db, claim, { digest, picture, emptiesAt }, now);
    return 'addresses';
  }
  const file = { sizeBytes, mime: picture.mime as ImageType, kind: 'image', width, height } as const;
  await recordReady(db, claim, { file, digest, result: { renditions: [picture] }, isContinued: true }, now);
  return 'turn';
}

/**
 * Empties the object of the original. The function may be repeated. If the file is removed at the same time, this function also removes the
 * empty object. If this removal fails, the last erasure of the file removes the empty object.
 * @throws LeaseLost, StoreAway
 */
export async function emptyOriginal({ db, storage }: ProcessingDeps, claim: FileClaim, now: Date): Promise<void> {
  const key = claim.objectKey ?? '';
  await storage.empty(key).catch(asAway);
  try {
    await recordEnd(db, claim, now);
  } catch (error) {
    const file = await db.one(sql`SELECT FROM media WHERE id = ${claim.id} AND removed_at IS NULL`);
    if (!file) await storage.remove(key).catch(asAway);
    throw error;
  }
}
