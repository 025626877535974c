/** Smaller pictures of an image, for screens: made in a process of their own, stored beside the file (MED-22). */
import { Readable } from 'node:stream';
import { MediaRendition } from '../../../entities/media/media-rendition.ts';
import { renditionRoles, type RenditionRole } from '../../../entities/media/values.ts';
import { shrinkImage } from '../../../platform/infra/images/shrink.ts';
import type { ObjectStore } from '../../../platform/infra/object-store.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { renditionBoxes, renditionVersion } from '../media.policy.ts';
import type { FileClaim } from './claims.ts';
import { StoreAway, type Contents } from './contents.ts';

export interface Rendition {
  role: RenditionRole;
  key: string;
  mime: string;
  sizeBytes: number;
  width: number;
  height: number;
}

/** Where the renditions of a file are. */
export const renditionsPrefix = (objectKey: string) => `${objectKey}.`;

/**
 * Makes the renditions of an image, and stores them under keys with the claim's fence: no other claim writes there.
 * @returns none where the image cannot be read, or has more pixels than may be decoded: it is delivered without
 * @throws StoreAway, and faults of ours
 */
export async function makeRenditions(
  storage: Pick<ObjectStore, 'put'>,
  contents: Pick<Contents, 'read'>,
  { objectKey, fence, sizeBytes }: FileClaim,
): Promise<Rendition[]> {
  const original = await contents.read(0, Number(sizeBytes));
  if (!original || objectKey === null) throw new Error('A file that has arrived is not in the store');
  const pictures = await shrinkImage(
    original,
    renditionRoles.map((role) => renditionBoxes[role]),
  );
  return Promise.all(
    (pictures ?? []).map(async ({ bytes, type, width, height }, at) => {
      const role = renditionRoles[at] as RenditionRole;
      const key = `${renditionsPrefix(objectKey)}${fence}-${role}-${renditionVersion}`;
      await storage.put(key, type, Readable.from([bytes])).catch((error: unknown) => {
        throw new StoreAway('The store is away', { cause: error });
      });
      return { role, key, mime: type, sizeBytes: bytes.length, width, height };
    }),
  );
}

/** Puts them in the place of what was made before. In the transaction that records the claim. */
export async function recordRenditions(
  tx: Transaction,
  mediaId: string,
  made: readonly Rendition[],
  now: Date,
): Promise<void> {
  await tx.manager.delete(MediaRendition, { mediaId });
  if (made.length === 0) return;
  await tx.manager.insert(
    MediaRendition,
    made.map(({ key, sizeBytes, ...rest }) => ({
      ...rest,
      mediaId,
      version: renditionVersion,
      objectKey: key,
      sizeBytes: String(sizeBytes),
      createdAt: now,
    })),
  );
}
