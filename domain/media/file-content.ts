/** What a file is, by what is in it: the type that was announced only tells texts apart, whose contents do not. */
import type { MediaKind, MediaPurpose } from '../../entities/media/values.ts';
import { imageTypeOf, measureImage } from './image.ts';
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
import { officeTypeOf, type Read } from './office-type.ts';
import { isText } from './text-content.ts';

/** Of a document, this much is read at either end; of images all, for they are small. */
const pieceBytes = 64 * 1_024;
/** PDFs begin within these: readers pass over what stands before. */
const pdfHeadBytes = 1_024;

/** What a file is that may be delivered. */
export interface FoundFile {
  sizeBytes: number;
  mime: ContentType;
  kind: MediaKind;
  /** In pixels, of images. */
  width?: number;
  height?: number;
}

export type Finding = FoundFile | { sizeBytes: number; error: MediaError };

/** What is known of a file before anything of it is read. */
export interface ArrivedFile {
  sizeBytes: number;
  purpose: MediaPurpose;
  /** The type that the caller announced. */
  announced: string;
}

/** @param read never asked for what is beyond the end @throws whatever `read` throws */
export async function lookInto(read: Read, { sizeBytes, purpose, announced }: ArrivedFile): Promise<Finding> {
  if (sizeBytes === 0) return { sizeBytes, error: 'content_not_allowed' };
  if (sizeBytes > mediaRules.documentBytes) return { sizeBytes, error: 'too_large' };
  const readInside: Read = (offset, length) => read(offset, Math.min(length, sizeBytes - offset));
  const mime = await typeOf(readInside, sizeBytes, announced);
  if ('error' in mime) return { sizeBytes, ...mime };
  if (purpose === 'agent_image' && !isImageType(mime.is)) return { sizeBytes, error: 'content_not_allowed' };
  if (sizeBytes > maxBytes(purpose, mime.is)) return { sizeBytes, error: 'too_large' };
  const found = { sizeBytes, mime: mime.is, kind: kindOf(mime.is) };
  if (!isImageType(mime.is)) return found;
  const measured = await imageOf(readInside, sizeBytes, mime.is, purpose === 'agent_image');
  return 'error' in measured ? { sizeBytes, ...measured } : { ...found, ...measured };
}

async function typeOf(
  read: Read,
  sizeBytes: number,
  announced: string,
): Promise<{ is: ContentType } | { error: MediaError }> {
  const head = await read(0, pieceBytes);
  const image = imageTypeOf(head);
  if (image) return { is: image };
  const begins = head.subarray(0, pdfHeadBytes).indexOf('%PDF-');
  // A text may be about it.
  if (begins === 0 || (begins > 0 && !isTextType(announced))) return { is: 'application/pdf' };
  // The directory of an archive can be long: it is not read of what was announced as an image.
  const office = isImageType(announced) ? undefined : await officeTypeOf(read, sizeBytes, head);
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
