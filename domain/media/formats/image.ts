/**
 * Checks that an image is complete, and reads its size and whether it is animated. The image is not decoded. Each byte is read at most
 * once, and the number of parts is limited.
 */
import { crc32 } from 'node:zlib';
import { isRotated } from './exif.ts';
import type { ImageType } from '../media.policy.ts';

export interface ImageProperties {
  /** The width in pixels, at least 1, after the rotation that the Exif requires. */
  width: number;
  height: number;
  /** Whether the image has more than one frame. */
  isAnimated: boolean;
}

/** The properties of an image as they are stored in the file, before the rotation that the Exif requires. */
interface ParsedImage extends ImageProperties {
  exif?: Buffer | undefined;
}

/** A usual image has at most some thousands of chunks, segments or blocks. */
const maxParts = 16_384;

/** @returns undefined for an image that is cut off, damaged, without a size, or with too many parts */
export function measureImage(type: ImageType, bytes: Buffer): ImageProperties | undefined {
  try {
    const { width, height, isAnimated, exif } = parsers[type](bytes);
    if (width < 1 || height < 1) return undefined;
    return exif && isRotated(exif) ? { width: height, height: width, isAnimated } : { width, height, isAnimated };
  } catch (error) {
    // Reads the bytes of the image. Reading beyond the end of the image throws RangeError.
    if (error instanceof BrokenImage || error instanceof RangeError) return undefined;
    throw error;
  }
}

/** @returns the type that the first bytes show; undefined if the file is not an accepted image */
export function imageTypeOf(head: Buffer): ImageType | undefined {
  const begins = (text: string, at = 0) => head.toString('latin1', at, at + text.length) === text;
  if (begins('\u0089PNG\r\n\u001a\n')) return 'image/png';
  if (begins('\u00ff\u00d8\u00ff')) return 'image/jpeg';
  if (begins('GIF87a') || begins('GIF89a')) return 'image/gif';
  if (begins('RIFF') && begins('WEBP', 8)) return 'image/webp';
  return undefined;
}

class BrokenImage extends Error {}

/** @throws BrokenImage above the limit */
function partCounter(): () => void {
  let parts = 0;
  return () => {
    if (++parts > maxParts) throw new BrokenImage();
  };
}

/** Each parser reads the image from the first byte to the end mark. @throws BrokenImage, RangeError */
const parsers: Readonly<Record<ImageType, (bytes: Buffer) => ParsedImage>> = {
  'image/png': parsePng,
  'image/jpeg': parseJpeg,
  'image/gif': parseGif,
  'image/webp': parseWebp,
};

/**
 * Parses a PNG, which consists of chunks. Each chunk has a length, a name, data and a checksum. The first chunk is IHDR, which contains the
 * size; the last chunk is IEND.
 */
function parsePng(bytes: Buffer): ParsedImage {
  if (bytes.readUInt32BE(8) !== 13 || bytes.toString('latin1', 12, 16) !== 'IHDR') throw new BrokenImage();
  const [width, height] = [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
  const countPart = partCounter();
  let [hasData, isAnimated] = [false, false];
  let exif: Buffer | undefined;
  for (let at = 8; ;) {
    countPart();
    const end = at + 8 + bytes.readUInt32BE(at);
    if (bytes.readUInt32BE(end) !== crc32(bytes.subarray(at + 4, end))) throw new BrokenImage();
    const name = bytes.toString('latin1', at + 4, at + 8);
    hasData ||= name === 'IDAT';
    isAnimated ||= name === 'acTL';
    if (name === 'eXIf') exif ??= bytes.subarray(at + 8, end);
    at = end + 4;
    if (name === 'IEND') break;
  }
  if (!hasData) throw new BrokenImage();
  return { width, height, isAnimated, exif };
}

/**
 * The marks of a JPEG: the end of the image, the start of a scan, and the start of the Exif segment. The size of the image is in the frame
 * segment. The mark of this segment is one of 0xC0 to 0xCF, but not 0xC4, 0xC8 or 0xCC.
 */
const [endOfImage, startOfScan, exifSegment] = [0xd9, 0xda, 0xe1];
const isFrame = (mark: number) => mark >= 0xc0 && mark <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(mark);

/**
 * Parses the segments of a JPEG, and the data after the start of each scan. There, a byte FF starts a mark, unless 00 follows it. The last
 * mark is EOI.
 */
function parseJpeg(bytes: Buffer): ParsedImage {
  const countPart = partCounter();
  let size: { width: number; height: number } | undefined;
  let hasScan = false;
  let exif: Buffer | undefined;
  for (let at = 2; ;) {
    if (bytes.readUInt8(at) !== 0xff) throw new BrokenImage();
    const mark = bytes.readUInt8(at + 1);
    if (mark === 0xff) {
      at += 1; // any number of FF bytes may precede a mark
      continue;
    }
    if (mark === endOfImage) break;
    countPart();
    // The frame of a thumbnail is inside a segment, which is skipped as a whole.
    if (isFrame(mark)) size ??= { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) };
    const next = at + 2 + bytes.readUInt16BE(at + 2);
    // Segments with the same mark may also contain XMP.
    if (mark === exifSegment && bytes.toString('latin1', at + 4, at + 8) === 'Exif')
      exif ??= bytes.subarray(at + 4, next);
    hasScan ||= mark === startOfScan;
    at = mark === startOfScan ? endOfScan(bytes, next) : next;
  }
  if (!hasScan || !size) throw new BrokenImage();
  return { ...size, isAnimated: false, exif };
}

/** @returns the offset of the next mark that does not belong to the scan */
function endOfScan(bytes: Buffer, start: number): number {
  for (let at = start; at + 1 < bytes.length; at++) {
    if (bytes[at] !== 0xff) continue;
    const mark = bytes[at + 1] ?? 0;
    const isOfScan = mark === 0 || (mark >= 0xd0 && mark <= 0xd7);
    if (!isOfScan) return at;
  }
  throw new BrokenImage();
}

/** A GIF has the size of the screen, then pictures and extensions with their sub-blocks, and a trailer. */
function parseGif(bytes: Buffer): ParsedImage {
  const [picture, extension, trailer] = [0x2c, 0x21, 0x3b];
  const tableBytes = (flags: number) => (flags & 0x80 ? 3 << ((flags & 0x07) + 1) : 0);
  const [width, height] = [bytes.readUInt16LE(6), bytes.readUInt16LE(8)];
  const countPart = partCounter();
  let pictures = 0;
  let at = 13 + tableBytes(bytes.readUInt8(10));
  for (;;) {
    const block = bytes.readUInt8(at);
    if (block === trailer) break;
    countPart();
    if (block === picture) {
      pictures += 1;
      at += 11 + tableBytes(bytes.readUInt8(at + 9));
    } else if (block === extension) at += 2;
    else throw new BrokenImage();
    for (let length = bytes.readUInt8(at); length > 0; length = bytes.readUInt8(at)) at += 1 + length;
    at += 1;
  }
  if (pictures === 0) throw new BrokenImage();
  return { width, height, isAnimated: pictures > 1 };
}

/** A WebP is a container with its length and chunks. Each chunk has a name, a length and data, and is padded to an even length. */
function parseWebp(bytes: Buffer): ParsedImage {
  const end = 8 + bytes.readUInt32LE(4);
  if (end > bytes.length) throw new BrokenImage();
  const countPart = partCounter();
  let size: { width: number; height: number } | undefined;
  let [hasPicture, isAnimated] = [false, false];
  let exif: Buffer | undefined;
  for (let at = 12; at < end;) {
    countPart();
    const name = bytes.toString('latin1', at, at + 4);
    const next = at + 8 + bytes.readUInt32LE(at + 4);
    if (next > end) throw new BrokenImage();
    // In an extended file, the first chunk contains the size. A simple file has only one picture, and the chunk of this picture contains
    // the size.
    size ??= webpSizes.get(name)?.(bytes, at + 8);
    hasPicture ||= name === 'VP8 ' || name === 'VP8L' || name === 'ANMF';
    isAnimated ||= name === 'ANIM' || name === 'ANMF';
    if (name === 'EXIF') exif ??= bytes.subarray(at + 8, next);
    at = next + (next % 2);
  }
  if (!hasPicture || !size) throw new BrokenImage();
  return { ...size, isAnimated, exif };
}

/** The functions that read the size, by the name of the chunk. @throws BrokenImage, RangeError */
const webpSizes: ReadonlyMap<string, (bytes: Buffer, at: number) => { width: number; height: number }> = new Map([
  [
    'VP8X',
    (bytes: Buffer, at: number) => ({
      width: 1 + bytes.readUIntLE(at + 4, 3),
      height: 1 + bytes.readUIntLE(at + 7, 3),
    }),
  ],
  [
    'VP8L',
    (bytes: Buffer, at: number) => {
      if (bytes.readUInt8(at) !== 0x2f) throw new BrokenImage();
      const bits = bytes.readUInt32LE(at + 1);
      return { width: 1 + (bits & 0x3fff), height: 1 + ((bits >>> 14) & 0x3fff) };
    },
  ],
  [
    'VP8 ',
    (bytes: Buffer, at: number) => {
      if (bytes.readUIntBE(at + 3, 3) !== 0x9d012a) throw new BrokenImage(); // a key frame starts with this code
      return { width: bytes.readUInt16LE(at + 6) & 0x3fff, height: bytes.readUInt16LE(at + 8) & 0x3fff };
    },
  ],
]);
