/** What a file is, by what is in it: the type that was announced only tells texts apart, whose contents do not. */
import { fileTypeFromBuffer } from 'file-type';
import type { ObjectStore } from '../../platform/infra/object-store.ts';
import { measureImage } from './image.ts';
import type { MediaKind } from '../../entities/media/values.ts';
import {
  isImageType,
  isTextType,
  kindOf,
  mediaRules,
  maxBytes,
  type ContentType,
  type ImageType,
  type MediaError,
} from './media.policy.ts';
import type { StoredMedia } from './media.ts';
import { officeTypeOf, type Read } from './office-type.ts';
import { isText } from './text-content.ts';

/** Of a document, this much is read at either end; of images all, for they are small. */
const pieceBytes = 64 * 1_024;
/** PDFs begin within these: readers pass over what stands before. */
const pdfHeadBytes = 1_024;

export type Finding =
  | { sizeBytes: number; mime: ContentType; kind: MediaKind; width?: number; height?: number }
  | { sizeBytes: number; error: MediaError };

/** It was erased while it was looked at. */
class FileGone extends Error {}

/** @returns undefined where no file is there, or not any more @throws whatever the store throws */
export async function inspect(
  storage: Pick<ObjectStore, 'size' | 'read'>,
  stored: Pick<StoredMedia, 'objectKey' | 'purpose' | 'mime'>,
): Promise<Finding | undefined> {
  try {
    return await lookInto(storage, stored);
  } catch (error) {
    if (error instanceof FileGone) return undefined;
    throw error;
  }
}

async function lookInto(
  storage: Pick<ObjectStore, 'size' | 'read'>,
  { objectKey, purpose, mime: announced }: Pick<StoredMedia, 'objectKey' | 'purpose' | 'mime'>,
): Promise<Finding | undefined> {
  if (objectKey === null) return undefined;
  const sizeBytes = await storage.size(objectKey);
  if (sizeBytes === undefined) return undefined;
  if (sizeBytes === 0) return { sizeBytes, error: 'content_not_allowed' };
  if (sizeBytes > mediaRules.documentBytes) return { sizeBytes, error: 'too_large' };
  const read = readerOf(storage, objectKey, sizeBytes);
  const mime = await typeOf(read, sizeBytes, announced ?? '');
  if ('error' in mime) return { sizeBytes, ...mime };
  if (purpose === 'agent_image' && !isImageType(mime.is)) return { sizeBytes, error: 'content_not_allowed' };
  if (sizeBytes > maxBytes(purpose, mime.is)) return { sizeBytes, error: 'too_large' };
  const found = { sizeBytes, mime: mime.is, kind: kindOf(mime.is) };
  if (!isImageType(mime.is)) return found;
  const measured = await imageOf(read, sizeBytes, mime.is, purpose === 'agent_image');
  return 'error' in measured ? { sizeBytes, ...measured } : { ...found, ...measured };
}

/** Never asks for what is beyond the end. It throws FileGone. */
function readerOf(storage: Pick<ObjectStore, 'read'>, objectKey: string, sizeBytes: number): Read {
  return async (offset, length) => {
    const bytes = await storage.read(objectKey, offset, Math.min(length, sizeBytes - offset));
    if (!bytes) throw new FileGone();
    return bytes;
  };
}

async function typeOf(
  read: Read,
  sizeBytes: number,
  announced: string,
): Promise<{ is: ContentType } | { error: MediaError }> {
  const head = await read(0, pieceBytes);
  const byMagic = await fileTypeFromBuffer(head).catch(() => undefined); // it may ask for more than there is
  if (byMagic && isImageType(byMagic.mime)) return { is: byMagic.mime };
  if (byMagic?.mime === 'image/apng') return { is: 'image/png' };
  const begins = head.subarray(0, pdfHeadBytes).indexOf('%PDF-');
  // A text may be about it.
  if (begins === 0 || (begins > 0 && !isTextType(announced))) return { is: 'application/pdf' };
  const office = await officeTypeOf(read, sizeBytes, head);
  if (office) return { is: office };
  if (!isTextType(announced) || head.includes(0)) return { error: 'content_not_allowed' };
  return (await isTextByItsEnds(read, sizeBytes, head)) ? { is: announced } : { error: 'not_utf8' };
}

async function isTextByItsEnds(read: Read, sizeBytes: number, head: Buffer): Promise<boolean> {
  if (sizeBytes <= 2 * pieceBytes) return isText(await read(0, sizeBytes));
  return isText(head, await read(sizeBytes - pieceBytes, pieceBytes));
}

async function imageOf(
  read: Read,
  sizeBytes: number,
  mime: ImageType,
  isForAgents: boolean,
): Promise<{ width: number; height: number } | { error: MediaError }> {
  const measured = measureImage(mime, await read(0, sizeBytes));
  if (!measured) return { error: 'image_broken' };
  const { width, height, isAnimated } = measured;
  if (isForAgents && isAnimated) return { error: 'image_animated' };
  if (isForAgents && Math.max(width, height) > mediaRules.agentImageSide) return { error: 'image_dimensions' };
  return { width, height };
}
