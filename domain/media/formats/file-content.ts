/** What a file is, by what is in it: the type that was announced only tells texts apart, whose contents do not. */
import type { MediaKind, MediaPurpose } from '../../../entities/media/values.ts';
import { archiveTypeOf, type Read } from './archive-type.ts';
import { imageTypeOf, measureImage } from './image.ts';
import {
  isImageType,
  isKeptAsPicture,
  isTextType,
  kindOf,
  mediaRules,
  maxBytes,
  type ContentType,
  type ImageType,
  type MediaError,
} from '../media.policy.ts';
import { playedFileOf, type PlayedFile } from './played-file.ts';
import { beginsAsSvg } from './svg-root.ts';
import { isText, isTextInOtherUnits } from './text-content.ts';

/** Of a document, this much is read at either end; of images all, for they are small. */
const pieceBytes = 64 * 1_024;
/** PDFs begin within these: readers pass over what stands before. */
const pdfHeadBytes = 1_024;

/** What a file is that may be delivered. */
export interface FoundFile {
  sizeBytes: number;
  mime: ContentType;
  kind: MediaKind;
  /** In pixels, of images and videos. */
  width?: number;
  height?: number;
  /** Of audio and video. */
  durationMs?: number;
  /** Of a video: whether its container says that it is HDR, or has more colours than BT.709. */
  hasWideColors?: boolean;
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
  const readInside: Read = (offset, length) => read(offset, Math.min(length, sizeBytes - offset));
  const type = await typeOf(readInside, sizeBytes, announced);
  if ('error' in type) return { sizeBytes, ...type };
  const { is: mime, played } = type;
  if (purpose === 'post' && !isImageType(mime) && mime !== 'application/pdf')
    return { sizeBytes, error: 'content_not_allowed' };
  if (isKeptAsPicture(purpose) && !isImageType(mime)) return { sizeBytes, error: 'content_not_allowed' };
  // Videos are asked for by name: the plan must host them, and they may be larger.
  if (kindOf(mime) === 'video' && kindOf(announced) !== 'video') return { sizeBytes, error: 'content_not_allowed' };
  if (sizeBytes > maxBytes(purpose, mime)) return { sizeBytes, error: 'too_large' };
  const found = { sizeBytes, mime, kind: kindOf(mime) };
  if (played) return { ...found, ...played };
  if (!isImageType(mime)) return found;
  const measured = await imageOf(readInside, sizeBytes, mime, purpose === 'agent_image');
  return 'error' in measured ? { sizeBytes, ...measured } : { ...found, ...measured };
}

type TypeOfContent = { is: ContentType; played?: Omit<PlayedFile, 'mime'> } | { error: MediaError };

async function typeOf(read: Read, sizeBytes: number, announced: string): Promise<TypeOfContent> {
  const head = await read(0, pieceBytes);
  const image = imageTypeOf(head);
  if (image) return { is: image };
  if (isAvif(head)) return { is: 'image/avif' };
  const begins = head.subarray(0, pdfHeadBytes).indexOf('%PDF-');
  // A text may be about it.
  if (begins === 0 || (begins > 0 && !isTextType(announced))) return { is: 'application/pdf' };
  const kind = kindOf(announced);
  // The directory of an archive can be long: it is not read of what was announced as an image, audio or video.
  const archive = kind === 'document' ? await archiveTypeOf(read, sizeBytes, head) : undefined;
  // Any archive is one; whether it is more, its announced type cannot say.
  if (archive && (archive !== 'application/zip' || announced === archive)) return { is: archive };
  const played = kind === 'audio' || kind === 'video' ? await playedFileOf(read, sizeBytes) : undefined;
  if (played) {
    const { mime, ...measures } = played;
    return { is: mime, played: measures };
  }
  const isSvg = announced === 'image/svg+xml' && beginsAsSvg(head.toString('latin1'));
  if (!isTextType(announced) && !isSvg) return { error: 'content_not_allowed' };
  if (await isTextByItsEnds(read, sizeBytes, head)) return { is: announced as ContentType };
  const isOtherText = !head.includes(0) || isTextInOtherUnits(head, head.length < sizeBytes);
  return { error: isOtherText ? 'not_utf8' : 'content_not_allowed' };
}

function isAvif(head: Buffer): boolean {
  return head.toString('latin1', 4, 8) === 'ftyp' && /^avi[fs]$/.test(head.toString('latin1', 8, 12));
}

async function isTextByItsEnds(read: Read, sizeBytes: number, head: Buffer): Promise<boolean> {
  if (sizeBytes <= 2 * pieceBytes) return isText(await read(0, sizeBytes));
  const tailBytes = pieceBytes - (sizeBytes % 2); // what has units of two bytes is not cut inside of one
  return isText(head, await read(sizeBytes - tailBytes, tailBytes));
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
