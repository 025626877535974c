/** Whether an image is whole, how large it is, and whether it moves. It is walked through, not decoded. */
import { crc32 } from 'node:zlib';
import { imageSize } from 'image-size';
import type { ImageType } from './media.policy.ts';

export interface Measured {
  /** In pixels, at least 1. */
  width: number;
  height: number;
  /** Whether it has more than one picture. */
  isAnimated: boolean;
}

/** @returns undefined for an image that ends too early, is damaged, or has no size */
export function measureImage(type: ImageType, bytes: Buffer): Measured | undefined {
  try {
    const isAnimated = walks[type](bytes);
    const { width, height } = imageSize(bytes);
    return width >= 1 && height >= 1 ? { width, height, isAnimated } : undefined;
  } catch (error) {
    // What stands outside of the bytes is asked for where they end too early.
    if (error instanceof BrokenImage || error instanceof RangeError || error instanceof TypeError) return undefined;
    throw error;
  }
}

class BrokenImage extends Error {}

/** From the first byte to the mark of the end. @returns whether it is animated @throws BrokenImage, RangeError */
const walks: Readonly<Record<ImageType, (bytes: Buffer) => boolean>> = {
  'image/png': walkPng,
  'image/jpeg': walkJpeg,
  'image/gif': walkGif,
  'image/webp': walkWebp,
};

/** Chunks of length, name, data and checksum, the last of which is IEND. */
function walkPng(bytes: Buffer): boolean {
  const names = new Set<string>();
  for (let at = 8; !names.has('IEND');) {
    const length = bytes.readUInt32BE(at);
    const end = at + 8 + length;
    if (bytes.readUInt32BE(end) !== crc32(bytes.subarray(at + 4, end))) throw new BrokenImage();
    names.add(bytes.toString('latin1', at + 4, at + 8));
    at = end + 4;
  }
  if (!names.has('IDAT')) throw new BrokenImage();
  return names.has('acTL');
}

/** Segments, and after each start of a scan its data, in which a mark is an FF that no 00 follows; the last is EOI. */
function walkJpeg(bytes: Buffer): boolean {
  const [endOfImage, startOfScan] = [0xd9, 0xda];
  let hasScan = false;
  for (let at = 2; ;) {
    if (bytes.readUInt8(at) !== 0xff) throw new BrokenImage();
    const mark = bytes.readUInt8(at + 1);
    if (mark === 0xff) at += 1; // marks may be preceded by any number of them
    else if (mark === endOfImage) break;
    else at += 2 + bytes.readUInt16BE(at + 2);
    if (mark === startOfScan) {
      hasScan = true;
      at = endOfScan(bytes, at);
    }
  }
  if (!hasScan) throw new BrokenImage();
  return false;
}

/** @returns where the next mark stands that is not of the scan itself */
function endOfScan(bytes: Buffer, start: number): number {
  for (let at = start; ; at++) {
    at = bytes.indexOf(0xff, at);
    if (at === -1) throw new BrokenImage();
    const mark = bytes.readUInt8(at + 1);
    const isOfScan = mark === 0 || (mark >= 0xd0 && mark <= 0xd7);
    if (!isOfScan) return at;
  }
}

/** Pictures and extensions, each with its sub-blocks, up to the trailer. */
function walkGif(bytes: Buffer): boolean {
  const [picture, extension, trailer] = [0x2c, 0x21, 0x3b];
  const tableBytes = (flags: number) => (flags & 0x80 ? 3 << ((flags & 0x07) + 1) : 0);
  let pictures = 0;
  let at = 13 + tableBytes(bytes.readUInt8(10));
  for (;;) {
    const block = bytes.readUInt8(at);
    if (block === trailer) break;
    if (block === picture) {
      pictures += 1;
      at += 11 + tableBytes(bytes.readUInt8(at + 9));
    } else if (block === extension) at += 2;
    else throw new BrokenImage();
    for (let length = bytes.readUInt8(at); length > 0; length = bytes.readUInt8(at)) at += 1 + length;
    at += 1;
  }
  if (pictures === 0) throw new BrokenImage();
  return pictures > 1;
}

/** Chunks of name, length and data, padded to an even length, inside a container that states its length. */
function walkWebp(bytes: Buffer): boolean {
  const end = 8 + bytes.readUInt32LE(4);
  if (end > bytes.length) throw new BrokenImage();
  const names = new Set<string>();
  for (let at = 12; at < end;) {
    const next = at + 8 + bytes.readUInt32LE(at + 4);
    if (next > end) throw new BrokenImage();
    names.add(bytes.toString('latin1', at, at + 4));
    at = next + (next % 2);
  }
  if (!['VP8 ', 'VP8L', 'ANMF'].some((name) => names.has(name))) throw new BrokenImage();
  return names.has('ANIM') || names.has('ANMF');
}
