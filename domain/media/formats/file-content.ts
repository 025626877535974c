/**
 * Detects the type of a file by its content. The type that the caller announced is used only for texts, because the content of a text does
 * not show its type.
 */
import type { MediaKind, MediaPurpose } from '../../../entities/media/values.ts';
import { archiveTypeOf, type Read } from './archive-type.ts';
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
} from '../media.policy.ts';
import { isKeptAsPicture } from '../processing.policy.ts';
import { playedFileOf, type PlayedFile } from './played-file.ts';
import { beginsAsSvg } from './svg-root.ts';
import { isText, isTextInOtherUnits } from './text-content.ts';

/** The number of bytes that are read at each end of a document. Images are small, so the whole image is read. */
const pieceBytes = 64 * 1_024;
/** A PDF must start within these bytes. PDF readers skip the bytes before it. */
const pdfHeadBytes = 1_024;

/** The properties of an accepted file. */
export interface IdentifiedFile {
  sizeBytes: number;
  mime: ContentType;
  kind: MediaKind;
  width?: number;
  height?: number;
  durationMs?: number;
  /** Whether the container of a video says that the video is HDR or has more colours than BT.709. */
  hasWideColors?: boolean;
}

export type Finding = IdentifiedFile | { sizeBytes: number; error: MediaError };

/** The properties of a file that are known before its content is read. */
export interface ArrivedFile {
  sizeBytes: number;
  purpose: MediaPurpose;
  announced: string;
}

/**
 * @param read never called for bytes after the end of the file
 * @throws any error of `read`
 */
export async function identifyContent(read: Read, { sizeBytes, purpose, announced }: ArrivedFile): Promise<Finding> {
  if (sizeBytes === 0) return { sizeBytes, error: 'content_not_allowed' };
  const readInside: Read = (offset, length) => read(offset, Math.min(length, sizeBytes - offset));
  const type = await typeOf(readInside, sizeBytes, announced);
  if ('error' in type) return { sizeBytes, ...type };
  const { is: mime, played } = type;
  if (purpose === 'post' && !isImageType(mime) && mime !== 'application/pdf')
    return { sizeBytes, error: 'content_not_allowed' };
  if (isKeptAsPicture(purpose) && !isImageType(mime)) return { sizeBytes, error: 'content_not_allowed' };
  // A video must be announced as a video, because the plan must include hosting and videos have a higher size limit.
  if (kindOf(mime) === 'video' && kindOf(announced) !== 'video') return { sizeBytes, error: 'content_not_allowed' };
  if (sizeBytes > maxBytes(purpose, mime)) return { sizeBytes, error: 'too_large' };
  const file = { sizeBytes, mime, kind: kindOf(mime) };
  if (played) return { ...file, ...played };
  if (!isImageType(mime)) return file;
  const measured = await imageOf(readInside, sizeBytes, mime, purpose === 'agent_image');
  return 'error' in measured ? { sizeBytes, ...measured } : { ...file, ...measured };
}

type TypeOfContent = { is: ContentType; played?: Omit<PlayedFile, 'mime'> } | { error: MediaError };

async function typeOf(read: Read, sizeBytes: number, announced: string): Promise<TypeOfContent> {
  const head = await read(0, pieceBytes);
  const image = imageTypeOf(head);
  if (image) return { is: image };
  if (isAvif(head)) return { is: 'image/avif' };
  const begins = head.subarray(0, pdfHeadBytes).indexOf('%PDF-');
  // A text may also contain the bytes that mark a PDF. So a file that was announced as a text is a PDF only if it starts with these bytes.
  if (begins === 0 || (begins > 0 && !isTextType(announced))) return { is: 'application/pdf' };
  const kind = kindOf(announced);
  // The directory of an archive can be long, so it is not read for an announced image, audio or video.
  const archive = kind === 'document' ? await archiveTypeOf(read, sizeBytes, head) : undefined;
  // The content decides about documents. A plain archive is accepted only if the caller announced an archive.
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
  // The last bytes must begin at an even offset, so that they do not begin inside a 2-byte unit of UTF-16.
  const tailBytes = pieceBytes - (sizeBytes % 2);
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
