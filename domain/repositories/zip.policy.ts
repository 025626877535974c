/**
 * How a ZIP archive of stored files is laid out, computed from names, sizes and checksums alone: so its exact length is known before
 * a byte is read, and any part of it can be given out (REPO-6). PKWARE's APPNOTE 6.3; ZIP64 where a number needs it.
 */
import { withoutEnd } from '../../platform/core/ends.policy.ts';

/** A file as it will be in the archive. */
export interface ZipFile {
  /** In UTF-8; made safe and different from all others by {@link archiveNames}. */
  name: string;
  /** In bytes. */
  size: number;
  /** CRC-32 of the whole content, unsigned. */
  crc32: number;
  /** To two seconds, in UTC; what a ZIP cannot say becomes the nearest that it can. */
  modifiedAt: Date;
}

/** What stands in an archive from `start` on: bytes of the format, or the content of a file, by its place in the list. */
export type ZipSegment = { start: number; length: number } & ({ bytes: Buffer } | { file: number });

export interface ZipLayout {
  /** Of the whole archive, in bytes. */
  size: number;
  /** One after another, without a gap; none is empty. */
  segments: readonly ZipSegment[];
}

/** From here on a number does not fit, and its field says that ZIP64 has it. */
const max32 = 0xffff_ffff;
const max16 = 0xffff;

const localHeader = 0x04034b50;
const centralHeader = 0x02014b50;
const endOfDirectory64 = 0x06064b50;
const locatorOfEnd64 = 0x07064b50;
const endOfDirectory = 0x06054b50;

const version = 20;
/** The first that has ZIP64. */
const version64 = 45;
/** Names are in UTF-8. */
const flags = 0x0800;
/** Unix, so that readers take the attributes as permissions: an ordinary file, readable by all. */
const madeByUnix = 3 << 8;
const attributes = (0o100644 << 16) >>> 0;

/** Writes numbers of a fixed width, little-endian, as the format has them. */
class Fields {
  readonly #parts: Buffer[] = [];
  u16(...values: readonly number[]): this {
    for (const value of values) {
      const field = Buffer.alloc(2);
      field.writeUInt16LE(value);
      this.#parts.push(field);
    }
    return this;
  }
  u32(...values: readonly number[]): this {
    for (const value of values) {
      const field = Buffer.alloc(4);
      field.writeUInt32LE(value);
      this.#parts.push(field);
    }
    return this;
  }
  u64(...values: readonly number[]): this {
    for (const value of values) {
      const field = Buffer.alloc(8);
      field.writeBigUInt64LE(BigInt(value));
      this.#parts.push(field);
    }
    return this;
  }
  bytes(bytes: Buffer): this {
    this.#parts.push(bytes);
    return this;
  }
  done(): Buffer {
    return Buffer.concat(this.#parts);
  }
}

/** The extra field with the numbers that do not fit; empty where all do. */
function extra64(values: readonly number[]): Buffer {
  if (values.length === 0) return Buffer.alloc(0);
  return new Fields()
    .u16(0x0001, values.length * 8)
    .u64(...values)
    .done();
}

/** @returns time and date of MS-DOS: from 1980 to 2107, every other second */
function dosTime(at: Date): [time: number, date: number] {
  const year = at.getUTCFullYear();
  if (year < 1980) return [0, (1 << 5) | 1];
  if (year > 2107) return [(23 << 11) | (59 << 5) | 29, (127 << 9) | (12 << 5) | 31];
  return [
    (at.getUTCHours() << 11) | (at.getUTCMinutes() << 5) | (at.getUTCSeconds() >> 1),
    ((year - 1980) << 9) | ((at.getUTCMonth() + 1) << 5) | at.getUTCDate(),
  ];
}

/** @param files in their order, with names that differ */
export function layOutZip(files: readonly ZipFile[]): ZipLayout {
  const segments: ZipSegment[] = [];
  let at = 0;
  const add = (segment: { length: number } & ({ bytes: Buffer } | { file: number })) => {
    if (segment.length > 0) segments.push({ ...segment, start: at });
    at += segment.length;
  };
  const addBytes = (bytes: Buffer) => add({ bytes, length: bytes.length });
  const directory: Buffer[] = [];
  for (const [place, { name, size, crc32, modifiedAt }] of files.entries()) {
    const offset = at;
    const bytes = Buffer.from(name);
    const isLarge = size >= max32;
    const needed = isLarge || offset >= max32 ? version64 : version;
    const stated = isLarge ? max32 : size;
    const localExtra = extra64(isLarge ? [size, size] : []);
    addBytes(
      new Fields()
        .u32(localHeader)
        .u16(isLarge ? version64 : version, flags, 0, ...dosTime(modifiedAt))
        .u32(crc32, stated, stated)
        .u16(bytes.length, localExtra.length)
        .bytes(bytes)
        .bytes(localExtra)
        .done(),
    );
    add({ file: place, length: size });
    const centralExtra = extra64([...(isLarge ? [size, size] : []), ...(offset >= max32 ? [offset] : [])]);
    directory.push(
      new Fields()
        .u32(centralHeader)
        .u16(madeByUnix | needed, needed, flags, 0, ...dosTime(modifiedAt))
        .u32(crc32, stated, stated)
        .u16(bytes.length, centralExtra.length, 0, 0, 0)
        .u32(attributes, Math.min(offset, max32))
        .bytes(bytes)
        .bytes(centralExtra)
        .done(),
    );
  }
  const start = at;
  addBytes(Buffer.concat(directory));
  addBytes(endOf(files.length, start, at - start));
  return { size: at, segments };
}

/** What ends the archive: the directory's place, in 64 bits too where 32 do not do. */
function endOf(count: number, start: number, length: number): Buffer {
  const end = new Fields();
  if (count >= max16 || start >= max32 || length >= max32)
    end
      .u32(endOfDirectory64)
      .u64(44) // of what follows
      .u16(madeByUnix | version64, version64)
      .u32(0, 0)
      .u64(count, count, length, start)
      .u32(locatorOfEnd64, 0)
      .u64(start + length)
      .u32(1);
  return end
    .u32(endOfDirectory)
    .u16(0, 0, Math.min(count, max16), Math.min(count, max16))
    .u32(Math.min(length, max32), Math.min(start, max32))
    .u16(0)
    .done();
}

/** A part of a segment: of the bytes that stand there, or of a file's content from `from` on. */
export type ZipPart = { bytes: Buffer } | { file: number; from: number; length: number };

/** @param from the first byte of the archive @param length how many; both inside the archive @returns what stands there */
export function partsOf({ segments }: ZipLayout, from: number, length: number): ZipPart[] {
  const end = from + length;
  return segments
    .filter((segment) => segment.start < end && segment.start + segment.length > from)
    .map((segment) => {
      const begins = Math.max(from - segment.start, 0);
      const ends = Math.min(end - segment.start, segment.length);
      if ('bytes' in segment) return { bytes: segment.bytes.subarray(begins, ends) };
      return { file: segment.file, from: begins, length: ends - begins };
    });
}

/** Longer names are cut, their ending stays: file systems take 255 bytes, and a number may follow. */
const longestName = 200;
/** Names that Windows keeps for devices, with any ending. */
const devices = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|$)/i;
// oxlint-disable-next-line no-control-regex -- these are the characters that a name must not have
const unsafe = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069<>:"/\\|?*\ufffd]/g;

/** Windows takes full stops and spaces off the end of a name. */
const badEnd = '. ';

/** @returns a name that every file system takes, and that leads into no other folder */
export function safeName(given: string): string {
  const plain = withoutEnd(given.toWellFormed().normalize('NFC').replace(unsafe, '_').trim(), badEnd);
  const named = plain === '' ? 'file' : devices.test(plain) ? `_${plain}` : plain;
  const [stem, ending] = split(named);
  return withoutEnd(`${cut(stem, longestName - Buffer.byteLength(ending))}${ending}`, badEnd);
}

/** @returns the names made safe; those that file systems would take for one are numbered: `plan (2).pdf` */
export function archiveNames(given: readonly string[]): string[] {
  const taken = new Set<string>();
  return given.map((one) => {
    const name = safeName(one);
    const [stem, ending] = split(name);
    let numbered = name;
    for (let number = 2; taken.has(foldedName(numbered)); number++) numbered = `${stem} (${number})${ending}`;
    taken.add(foldedName(numbered));
    return numbered;
  });
}

/** File systems that do not tell cases apart do not agree on how: both ways back and forth count. */
// Stryker disable next-line ArrowFunction: names that are all alike would be numbered without end
const foldedName = (name: string) => name.normalize('NFKC').toUpperCase().toLowerCase();

/** @returns the name without its ending, and the ending with its dot */
function split(name: string): [stem: string, ending: string] {
  const ending = /(?<=.)\.[^.]{1,16}$/su.exec(name)?.[0] ?? '';
  return [name.slice(0, name.length - ending.length), ending];
}

/** @returns as many whole characters as fit into so many bytes */
function cut(text: string, bytes: number): string {
  let kept = '';
  let length = 0;
  for (const character of text) {
    length += Buffer.byteLength(character);
    if (length > bytes) break;
    kept += character;
  }
  return kept;
}
