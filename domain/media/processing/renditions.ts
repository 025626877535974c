/** Makes and stores the renditions of a file. Pictures of images and PDFs are made in a separate process (MED-22). */
import { Readable } from 'node:stream';
import { In, Not } from 'typeorm';
import { MediaRendition } from '../../../entities/media/media-rendition.ts';
import type { MailPictureProblem, MailPictureState, RenditionRole } from '../../../entities/media/values.ts';
import type { Box, SmallPicture } from '../../../platform/infra/images/pictures.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import type { MediaDeps } from '../media.ts';
import { isResumable } from '../media.policy.ts';
import {
  pageRules,
  pictureBox,
  renditionsPrefix,
  renditionVersion,
  type renditionBoxes,
} from '../processing.policy.ts';
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
  /** Whether the rendition shows only the first frame of an animation; false if absent. */
  standsStill?: boolean;
}

export interface RenditionResult {
  renditions: readonly Rendition[];
  /** The roles of the existing renditions that the file keeps. */
  keptRoles?: readonly RenditionRole[];
  /** Whether an image of the library has a picture for e-mails, or why it has none. Absent for other files. */
  mailPicture?: MailPictureState;
}

type PictureRole = keyof typeof renditionBoxes;

interface RenditionDeps {
  storage: Pick<ObjectStore, 'put'>;
  readers: Pick<FileReaders, 'shrinkImage' | 'makeMailPicture' | 'drawFirstPage'>;
}

/**
 * Makes and stores the renditions of an image. The keys contain the fencing token of the claim, so no other claim uses them.
 * @returns the renditions; an empty list if the image cannot be read or has too many pixels
 * @throws StoreAway, and errors that are faults of the service
 */
export async function makeRenditions(
  { storage, readers }: RenditionDeps,
  contents: Pick<Contents, 'read'>,
  claim: FileClaim,
  boxes: Partial<Record<PictureRole, Box>>,
): Promise<Rendition[]> {
  const original = await contents.read(0, Number(claim.sizeBytes));
  if (!original) throw new Error('The object of an uploaded file is missing in the store');
  const roles = Object.keys(boxes) as PictureRole[];
  const pictures = await readers.shrinkImage(original, Object.values(boxes));
  return Promise.all(
    (pictures ?? []).map((picture, at) => storePicture(storage, claim, roles[at] as PictureRole, picture)),
  );
}

/**
 * Makes the picture of an image for e-mails, and stores it (DEC-157).
 * @returns the rendition, or the reason why it cannot be made @throws StoreAway, the signal's reason, or an internal error
 */
export async function makeMailRendition(
  { storage, readers }: RenditionDeps,
  contents: Pick<Contents, 'read'>,
  claim: FileClaim,
  signal: AbortSignal,
): Promise<Rendition | MailPictureProblem> {
  const original = await contents.read(0, Number(claim.sizeBytes));
  if (!original) throw new Error('The object of an uploaded file is missing in the store');
  const picture = await readers.makeMailPicture(original, { signal });
  if (typeof picture === 'string') return picture;
  const { bytes, type, width, height, standsStill } = picture;
  const rendition = { role: 'mail', mime: type, sizeBytes: bytes.length, width, height, standsStill } as const;
  return storeRendition(storage, claim, rendition, Readable.from([bytes]));
}

/**
 * Makes a picture of the first page of a PDF, and stores the picture as the thumbnail of the PDF.
 * @returns the rendition; no rendition if the PDF needs a password, or if the drawing exceeds the limits
 * @throws StoreAway, the signal's reason, or an internal error
 */
export async function makePage(
  { storage, readers }: RenditionDeps,
  contents: Pick<Contents, 'stream'>,
  claim: FileClaim,
  signal: AbortSignal,
): Promise<Rendition[]> {
  if (Number(claim.sizeBytes) > pageRules.mostBytes) return [];
  const original = await contents.stream(signal);
  if (!original) throw new Error('The object of an uploaded file is missing in the store');
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
  const rendition = { role, mime: type, sizeBytes: bytes.length, width, height };
  return storeRendition(storage, claim, rendition, Readable.from([bytes]));
}

/** Stores a rendition. Its key contains the fencing token of the claim, so no other claim uses it. @throws StoreAway */
export async function storeRendition(
  storage: Pick<ObjectStore, 'put'>,
  { objectKey, fence }: FileClaim,
  rendition: Omit<Rendition, 'key'>,
  body: Readable,
): Promise<Rendition> {
  const key = `${renditionsPrefix(objectKey ?? '')}${fence}-${rendition.role}-${renditionVersion}`;
  await storage.put(key, rendition.mime, body).catch(asAway);
  return { ...rendition, key };
}

/** Replaces the rows of a file's renditions, except the roles in `kept`. Runs in the transaction of the claim's result. */
export async function recordRenditions(
  tx: Transaction,
  mediaId: string,
  { renditions, keptRoles = [] }: Pick<RenditionResult, 'renditions' | 'keptRoles'>,
  now: Date,
): Promise<void> {
  await tx.manager.delete(MediaRendition, { mediaId, role: Not(In([...keptRoles])) });
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
 * Erases renditions that earlier claims made but did not record. The function runs before the result of this claim is recorded. So if the
 * store fails, a retry repeats the erasure. Renditions that are recorded, and renditions of later claims, stay. For a resumable upload, the
 * function also erases received bytes that did not fill a whole part. It also aborts multipart uploads that no row names because the
 * process that started them died (MED-26).
 * @throws StoreAway
 */
export async function eraseUnrecorded(
  { db, storage }: MediaDeps,
  { id, objectKey, fence, mime }: FileClaim,
  renditions: readonly Rendition[],
): Promise<void> {
  const wasResumable = isResumable(mime ?? '');
  if (objectKey === null || (fence === 1 && !wasResumable)) return;
  const rows = await db.manager.findBy(MediaRendition, { mediaId: id });
  const keptKeys = new Set([...rows.map(({ objectKey: key }) => key), ...renditions.map(({ key }) => key)]);
  const prefix = renditionsPrefix(objectKey);
  const isKept = (key: string) => keptKeys.has(key) || Number.parseInt(key.slice(prefix.length), 10) > fence;
  await storage.removeUnder(prefix, isKept).catch(asAway);
  if (wasResumable) await storage.endUploads(objectKey).catch(asAway);
}

/** Erases the renditions of a claim that a later claim has replaced. No row names them. Errors of the store are ignored. */
export async function eraseOwn(
  { storage }: Pick<MediaDeps, 'storage'>,
  { objectKey, fence }: FileClaim,
): Promise<void> {
  if (objectKey !== null) await storage.removeUnder(`${renditionsPrefix(objectKey)}${fence}-`).catch(() => undefined);
}
