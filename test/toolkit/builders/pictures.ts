/** Builds small pictures byte by byte, in every type that clients may upload. */
import { crc32, deflateSync } from 'node:zlib';

const be32 = (value: number) => Buffer.from([value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255]);
const le16 = (value: number) => Buffer.from([value & 255, value >>> 8]);

export function pngChunk(name: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name, 'latin1'), data]);
  return Buffer.concat([be32(data.length), named, be32(crc32(named))]);
}

const pngMark = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** If a picture has more pixels than this, its data has only some of the rows. Readers can then read its size, but cannot decode it. */
const wholePixels = 1_000_000;

/** A grey picture. @param extra the length of a comment that makes the file larger, in bytes */
export function png(width = 2, height = 3, { extra = 0, animated = false } = {}): Buffer {
  const header = Buffer.concat([be32(width), be32(height), Buffer.from([8, 0, 0, 0, 0])]);
  const row = Buffer.alloc(width + 1, 0x80).fill(0, 0, 1);
  const pixels = deflateSync(
    Buffer.concat(Array.from({ length: width * height <= wholePixels ? height : Math.min(height, 100) }, () => row)),
  );
  return Buffer.concat([
    pngMark,
    pngChunk('IHDR', header),
    ...(animated ? [pngChunk('acTL', Buffer.concat([be32(2), be32(0)]))] : []),
    ...(extra > 0 ? [pngChunk('tEXt', Buffer.alloc(extra, 0x61))] : []),
    pngChunk('IDAT', pixels),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

/** @param frames the number of pictures that the GIF shows in sequence */
export function gif(width = 2, height = 3, frames = 1): Buffer {
  const frame = Buffer.concat([
    Buffer.from([0x21, 0xf9, 4, 0, 10, 0, 0, 0]),
    Buffer.from([0x2c, 0, 0, 0, 0]),
    le16(1),
    le16(1),
    Buffer.from([0, 2, 2, 0x44, 1, 0]),
  ]);
  return Buffer.concat([
    Buffer.from('GIF89a', 'latin1'),
    le16(width),
    le16(height),
    Buffer.from([0x80, 0, 0, 0, 0, 0, 255, 255, 255]),
    ...Array.from({ length: frames }, () => frame),
    Buffer.from([0x3b]),
  ]);
}

const segment = (mark: number, data: Buffer) =>
  Buffer.concat([Buffer.from([0xff, mark, (data.length + 2) >>> 8, (data.length + 2) & 255]), data]);

/** A JPEG with a frame, a scan and an end marker. It contains a thumbnail, which has another end marker. */
export function jpeg(width = 2, height = 3): Buffer {
  const thumbnail = Buffer.from([0xff, 0xd8, 0xff, 0xd9]);
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    segment(0xe0, Buffer.concat([Buffer.from('JFIF\0', 'latin1'), Buffer.from([1, 1, 0, 0, 1, 0, 1, 0, 0])])),
    segment(0xe2, thumbnail),
    segment(0xc0, Buffer.from([8, height >>> 8, height & 255, width >>> 8, width & 255, 1, 1, 0x11, 0])),
    segment(0xda, Buffer.from([1, 1, 0, 0, 63, 0])),
    Buffer.from([0x12, 0xff, 0x00, 0x34, 0xff, 0xd0, 0x56]),
    Buffer.from([0xff, 0xd9]),
  ]);
}

/** A WebP in the extended format, with one frame, or with two frames as an animation. */
export function webp(width = 2, height = 3, animated = false): Buffer {
  const le24 = (value: number) => Buffer.from([value & 255, (value >>> 8) & 255, (value >>> 16) & 255]);
  const le32 = (value: number) => Buffer.concat([le24(value), Buffer.from([value >>> 24])]);
  const chunk = (name: string, data: Buffer) =>
    Buffer.concat([Buffer.from(name, 'latin1'), le32(data.length), data, Buffer.alloc(data.length % 2)]);
  const size = Buffer.concat([Buffer.from([animated ? 2 : 0, 0, 0, 0]), le24(width - 1), le24(height - 1)]);
  const still = chunk('VP8L', Buffer.from([0x2f, 1, 0, 0, 0, 7, 7]));
  const chunks = Buffer.concat([
    chunk('VP8X', size),
    ...(animated ? [chunk('ANIM', Buffer.alloc(6)), chunk('ANMF', Buffer.concat([Buffer.alloc(16), still]))] : [still]),
  ]);
  return Buffer.concat([Buffer.from('RIFF', 'latin1'), le32(4 + chunks.length), Buffer.from('WEBP', 'latin1'), chunks]);
}

/** 3 MB of empty segments before a picture. A reader of all segments must read 750,000 of them. */
export function jpegOfManySegments(): Buffer {
  const picture = jpeg();
  const segments = Buffer.alloc(3_000_000, Buffer.from([0xff, 0xe1, 0, 2]));
  return Buffer.concat([picture.subarray(0, 2), segments, picture.subarray(2)]);
}

/** A ZIP64 archive of 4.9 MB. Its directory names 100,000 entries, and a reader must read each of them. */
export function archiveOfManyEntries(): Buffer {
  const count = 100_000;
  const entry = Buffer.alloc(46 + 2);
  entry.writeUInt32LE(0x02014b50, 0);
  entry.writeUInt16LE(2, 28); // the name
  entry.write('aa', 46);
  const start = Buffer.alloc(30);
  start.writeUInt32LE(0x04034b50, 0);
  const directory = Buffer.concat(Array.from({ length: count }, () => entry));
  const end64 = Buffer.alloc(56);
  end64.writeUInt32LE(0x06064b50, 0);
  end64.writeBigUInt64LE(44n, 4);
  end64.writeBigUInt64LE(BigInt(count), 24);
  end64.writeBigUInt64LE(BigInt(count), 32);
  end64.writeBigUInt64LE(BigInt(directory.length), 40);
  end64.writeBigUInt64LE(BigInt(start.length), 48);
  const locator = Buffer.alloc(20);
  locator.writeUInt32LE(0x07064b50, 0);
  locator.writeBigUInt64LE(BigInt(start.length + directory.length), 8);
  locator.writeUInt32LE(1, 16);
  const end = Buffer.alloc(22, 0xff);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt32LE(0, 4);
  end.writeUInt16LE(0, 20);
  return Buffer.concat([start, directory, end64, locator, end]);
}
