/** What is made of a file for screens, stored beside it; pictures of an image and of a PDF are made in a process of their own (MED-22). */
import { Readable } from 'node:stream';
import { In, Not } from 'typeorm';
import { MediaRendition } from '../../../entities/media/media-rendition.ts';
import type { MailPictureProblem, MailPictureState, RenditionRole } from '../../../entities/media/values.ts';
import type { Box, SmallPicture } from '../../../platform/infra/images/pictures.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import type { MediaDeps } from '../media.ts';
import {
  isResumable,
  pageRules,
  pictureBox,
  renditionsPrefix,
  renditionVersion,
  type renditionBoxes,
} from '../media.policy.ts';
import type { FileClaim } from './claims.ts';
import { asAway, type Contents } from './contents.ts';
import type { FileReaders } from './readers.ts';

export interface Rendition {
  role: RenditionRole;
  key: string;
  mime: string;
  sizeBytes: number;
  width: number;
  height: number;
  /** Whether it shows only the first picture of an animation; false if absent. */
  standsStill?: boolean;
}

/** The renditions that were made of a file. */
export interface Made {
  renditions: readonly Rendition[];
  /** Roles of renditions from before that stay. */
  kept?: readonly RenditionRole[];
  /** Of an image of the library: whether it has a picture for e-mails, or why there is none. */
  mailPicture?: MailPictureState;
}

type PictureRole = keyof typeof renditionBoxes;

interface MakingDeps {
  storage: Pick<ObjectStore, 'put'>;
  readers: Pick<FileReaders, 'shrinkImage' | 'makeMailPicture' | 'drawFirstPage'>;
}

/**
 * Makes the renditions of an image, and stores them under keys with the claim's fence: no other claim writes there.
 * @returns none where the image cannot be read, or has more pixels than may be decoded: it is delivered without
 * @throws StoreAway, and faults of ours
 */
export async function makeRenditions(
  { storage, readers }: MakingDeps,
  contents: Pick<Contents, 'read'>,
  claim: FileClaim,
  boxes: Partial<Record<PictureRole, Box>>,
): Promise<Rendition[]> {
  const original = await contents.read(0, Number(claim.sizeBytes));
  if (!original) throw new Error('A file that has arrived is not in the store');
  const roles = Object.keys(boxes) as PictureRole[];
  const pictures = await readers.shrinkImage(original, Object.values(boxes));
  return Promise.all(
    (pictures ?? []).map((picture, at) => storePicture(storage, claim, roles[at] as PictureRole, picture)),
  );
}

/**
 * Makes the picture of an image for e-mails, and stores it (DEC-157).
 * @returns why there is none, where it cannot be made
 * @throws StoreAway, the signal's reason, and faults of ours
 */
export async function makeMailRendition(
  { storage, readers }: MakingDeps,
  contents: Pick<Contents, 'read'>,
  claim: FileClaim,
  signal: AbortSignal,
): Promise<Rendition | MailPictureProblem> {
  const original = await contents.read(0, Number(claim.sizeBytes));
  if (!original) throw new Error('A file that has arrived is not in the store');
  const picture = await readers.makeMailPicture(original, { signal });
  if (typeof picture === 'string') return picture;
  const { bytes, type, width, height, standsStill } = picture;
  const made = { role: 'mail', mime: type, sizeBytes: bytes.length, width, height, standsStill } as const;
  return storeRendition(storage, claim, made, Readable.from([bytes]));
}

/**
 * Makes a picture of the first page of a PDF, and stores it as its thumbnail.
 * @returns none where no page can be drawn without a password and within the bounds: the file is delivered without
 * @throws StoreAway, the signal's reason, and faults of ours
 */
export async function makePage(
  { storage, readers }: MakingDeps,
  contents: Pick<Contents, 'stream'>,
  claim: FileClaim,
  signal: AbortSignal,
): Promise<Rendition[]> {
  if (Number(claim.sizeBytes) > pageRules.mostBytes) return [];
  const original = await contents.stream(signal);
  if (!original) throw new Error('A file that has arrived is not in the store');
  const page = await readers.drawFirstPage(original, pictureBox, { signal });
  return page ? [await storePicture(storage, claim, 'thumbnail', page)] : [];
}

/** @throws StoreAway */
export function storePicture(
  storage: Pick<ObjectStore, 'put'>,
  claim: FileClaim,
  role: PictureRole,
  { bytes, type, width, height }: SmallPicture,
): Promise<Rendition> {
  const made = { role, mime: type, sizeBytes: bytes.length, width, height };
  return storeRendition(storage, claim, made, Readable.from([bytes]));
}

/** Stores it under a key with the claim's fence: no other claim writes there. @throws StoreAway */
export async function storeRendition(
  storage: Pick<ObjectStore, 'put'>,
  { objectKey, fence }: FileClaim,
  made: Omit<Rendition, 'key'>,
  body: Readable,
): Promise<Rendition> {
  const key = `${renditionsPrefix(objectKey ?? '')}${fence}-${made.role}-${renditionVersion}`;
  await storage.put(key, made.mime, body).catch(asAway);
  return { ...made, key };
}

/** Puts them in the place of what was made before, unless it is kept. In the transaction that records the claim. */
export async function recordRenditions(
  tx: Transaction,
  mediaId: string,
  { renditions, kept = [] }: Pick<Made, 'renditions' | 'kept'>,
  now: Date,
): Promise<void> {
  await tx.manager.delete(MediaRendition, { mediaId, role: Not(In([...kept])) });
  if (renditions.length === 0) return;
  await tx.manager.insert(
    MediaRendition,
    renditions.map(({ key, sizeBytes, ...rest }) => ({
      ...rest,
      mediaId,
      version: renditionVersion,
      objectKey: key,
      sizeBytes: String(sizeBytes),
      createdAt: now,
    })),
  );
}

/**
 * Erases what claims before this one have made and not recorded: before this one is recorded, so that it is repeated where the store
 * is away. What is recorded stays until then, and what a later claim makes. Of a resumable upload also what it has left: a rest that was
 * smaller than a part, and beginnings that no row has noted, because their process died (MED-26). @throws StoreAway
 */
export async function forgetOthers(
  { db, storage }: MediaDeps,
  { id, objectKey, fence, mime }: FileClaim,
  made: readonly Rendition[],
): Promise<void> {
  const wasResumable = isResumable(mime ?? '');
  if (objectKey === null || (fence === 1 && !wasResumable)) return;
  const recorded = await db.manager.findBy(MediaRendition, { mediaId: id });
  const kept = new Set([...recorded.map((rendition) => rendition.objectKey), ...made.map(({ key }) => key)]);
  const prefix = renditionsPrefix(objectKey);
  const isKept = (key: string) => kept.has(key) || Number.parseInt(key.slice(prefix.length), 10) > fence;
  await storage.removeUnder(prefix, isKept).catch(asAway);
  if (wasResumable) await storage.endUploads(objectKey).catch(asAway);
}

/** What a claim has made that another one has overtaken: nobody else knows of it. As far as the store can be reached. */
export async function forgetOwn(
  { storage }: Pick<MediaDeps, 'storage'>,
  { objectKey, fence }: FileClaim,
): Promise<void> {
  if (objectKey !== null) await storage.removeUnder(`${renditionsPrefix(objectKey)}${fence}-`).catch(() => undefined);
}
