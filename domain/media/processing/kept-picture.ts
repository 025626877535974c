/**
 * An image that a student shows an agent, or is shown by: kept as a picture of ours alone, upright and without metadata (MED-22,
 * MED-28).
 */
import type { Box } from '../../../platform/infra/images/pictures.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { isKeptAsPicture, processingRules, type ImageType } from '../media.policy.ts';
import type { FileClaim } from './claims.ts';
import { asAway, contentsOf, type Contents } from './contents.ts';
import { digestWhole } from './digest.ts';
import { recordEnd, recordFailure, recordMissing, recordPicture, recordReady } from './record.ts';
import { forgetOthers, makeRenditions } from './renditions.ts';
import type { ProcessingDeps } from './step.ts';

/** Whether the image is kept as a picture of ours, in the place of the original. */
export const hasPicture = ({ purpose, renditions }: FileClaim) =>
  isKeptAsPicture(purpose) && renditions?.preview !== undefined;

/**
 * Makes the picture, which is the file from then on. Another step empties the original, and leaves its key, so that the address of the
 * upload takes nothing in its place (ADR 15). Of an image that was ready as it was uploaded, that step comes when the signed addresses
 * of the original have ended; one that cannot be decoded stays as it is, because a question may show it.
 * @returns what the file waits for then
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
    const digest = await digestWhole(contents, claim, signal); // it is the file that cannot be read, and not a part of it
    if (wasReady) await recordMissing(db, claim, { digest, made: { renditions: [] }, dueAt: null }, now);
    else await recordFailure(db, claim, 'image_broken', now);
    return undefined;
  }
  tell('checksums');
  const { key, sizeBytes, width, height } = picture;
  const digest = await digestWhole(contentsOf(storage, key), { sizeBytes }, signal);
  await forgetOthers(deps, claim, [picture]);
  if (wasReady) {
    const emptiesAt = new Date(now.getTime() + processingRules.emptiedAfterMs);
    await recordPicture(db, claim, { digest, picture, emptiesAt }, now);
    return 'addresses';
  }
  const found = { sizeBytes, mime: picture.mime as ImageType, kind: 'image', width, height } as const;
  await recordReady(db, claim, { found, digest, made: { renditions: [picture] }, isContinued: true }, now);
  return 'turn';
}

/**
 * Safe to repeat. If the file is removed meanwhile, the empty object goes at once, or with what is erased once more when nothing can
 * arrive any more. @throws LeaseLost, StoreAway
 */
export async function emptyOriginal({ db, storage }: ProcessingDeps, claim: FileClaim, now: Date): Promise<void> {
  const key = claim.objectKey ?? '';
  await storage.empty(key).catch(asAway);
  try {
    await recordEnd(db, claim, now);
  } catch (error) {
    const stands = await db.one(sql`SELECT FROM media WHERE id = ${claim.id} AND removed_at IS NULL`);
    if (!stands) await storage.remove(key).catch(asAway);
    throw error;
  }
}
