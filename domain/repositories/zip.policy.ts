/**
 * Computes the layout of a ZIP archive of uncompressed files from their names, sizes and checksums. So the exact length is known before a
 * byte is read, and any part can be served (REPO-6). Follows PKWARE's APPNOTE 6.3, with ZIP64 for large numbers.
 */
import { withoutEnd } from '../../platform/core/text/ends.policy.ts';

export interface ZipFile {
  /** The name in UTF-8. {@link archiveNames} makes names safe and distinct. */
  name: string;
  /** In bytes. */
  size: number;
  /** The unsigned CRC-32 of the whole content. */
  crc32: number;
  /** The time in UTC, rounded down to two seconds. A time outside the range of ZIP is replaced by the nearest possible time. */
  modifiedAt: Date;
}

/** A segment of an archive from `start` on: bytes of the ZIP format, or a whole file by its index. */
export type ZipSegment = { start: number; length: number } & ({ bytes: Buffer } | { file: number });

export interface ZipLayout {
  /** The size of the whole archive in bytes. */
  size: number;
  /** The segments in order, without gaps. No segment is empty. */
  segments: readonly ZipSegment[];
}

/**
 * A number that is equal to this value or greater does not fit into its field of a ZIP. The field then contains this value, which refers
 * readers to ZIP64.
 */
const max32 = 0xffff_ffff;
const max16 = 0xffff;

const localHeader = 0x04034b50;
const centralHeader = 0x02014b50;
const endOfDirectory64 = 0x06064b50;
const locatorOfEnd64 = 0x07064b50;
const endOfDirectory = 0x06054b50;

const version = 20;
/** The first version of the ZIP format that has ZIP64. */
const version64 = 45;
/** Names are in UTF-8. */
const flags = 0x0800;
/**
 * The code of the system Unix. Because of this code, programs read the attributes of a file as Unix permissions. The attributes describe an
 * ordinary file that everyone may read.
 */
const madeByUnix = 3 << 8;
const attributes = (0o100644 << 16) >>> 0;

/** Writes numbers of a fixed width, little-endian. */
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

/** Holds the numbers that do not fit into their own fields; empty if all do. */
function extra64(values: readonly number[]): Buffer {
  if (values.length === 0) return Buffer.alloc(0);
  return new Fields()
    .u16(0x0001, values.length * 8)
    .u64(...values)
    .done();
}

/** @returns the time and date in the format of MS-DOS, which covers 1980 to 2107 in steps of two seconds */
function dosTime(at: Date): [time: number, date: number] {
  const year = at.getUTCFullYear();
  if (year < 1980) return [0, (1 << 5) | 1];
  if (year > 2107) return [(23 << 11) | (59 << 5) | 29, (127 << 9) | (12 << 5) | 31];
  return [
    (at.getUTCHours() << 11) | (at.getUTCMinutes() << 5) | (at.getUTCSeconds() >> 1),
    ((year - 1980) << 9) | ((at.getUTCMonth() + 1) << 5) | at.getUTCDate(),
  ];
}

/** @param files the files in their order, with distinct names */
export function layOutZip(files: readonly ZipFile[]): ZipLayout {
  const segments: ZipSegment[] = [];
  let at = 0;
  const add = (segment: { length: number } & ({ bytes: Buffer } | { file: number })) => {
    if (segment.length > 0) segments.push({ ...segment, start: at });
    at += segment.length;
  };
  const addBytes = (bytes: Buffer) => add({ bytes, length: bytes.length });
  const directory: Buffer[] = [];
  for (const [index, { name, size, crc32, modifiedAt }] of files.entries()) {
    const offset = at;
    const bytes = Buffer.from(name);
    const isLarge = size >= max32;
    const neededVersion = isLarge || offset >= max32 ? version64 : version;
    const statedSize = isLarge ? max32 : size;
    const localExtra = extra64(isLarge ? [size, size] : []);
    addBytes(
      new Fields()
        .u32(localHeader)
        .u16(isLarge ? version64 : version, flags, 0, ...dosTime(modifiedAt))
        .u32(crc32, statedSize, statedSize)
        .u16(bytes.length, localExtra.length)
        .bytes(bytes)
        .bytes(localExtra)
        .done(),
    );
    add({ file: index, length: size });
    const centralExtra = extra64([...(isLarge ? [size, size] : []), ...(offset >= max32 ? [offset] : [])]);
    directory.push(
      new Fields()
        .u32(centralHeader)
        .u16(madeByUnix | neededVersion, neededVersion, flags, 0, ...dosTime(modifiedAt))
        .u32(crc32, statedSize, statedSize)
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

/** The end of the archive has the position of the directory, in 64 bits if 32 are not enough. */
function endOf(count: number, start: number, length: number): Buffer {
  const end = new Fields();
  if (count >= max16 || start >= max32 || length >= max32)
    end
      .u32(endOfDirectory64)
      .u64(44) // the number of bytes of this record that follow this field
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

/** Bytes of the ZIP format, or the content of a file from `from` on. */
export type ZipPart = { bytes: Buffer } | { file: number; from: number; length: number };

/**
 * @param from the first byte
 * @param length in bytes; the range must be inside the archive
 * @returns the parts of segments that make up this range
 */
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

/** A longer name is cut before its extension. File systems accept 255 bytes, and a number may be added. */
const maxNameBytes = 200;
/** Names that Windows reserves for devices, with any extension. */
const devices = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|$)/i;
// oxlint-disable-next-line no-control-regex -- these are the forbidden characters of a name
const unsafe = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069<>:"/\\|?*\ufffd]/g;

/** Windows removes full stops and spaces from the end of a name. */
const badEnd = '. ';

/** @returns a name that every file system accepts, and that stays in its folder */
export function safeName(name: string): string {
  const plain = withoutEnd(name.toWellFormed().normalize('NFC').replace(unsafe, '_').trim(), badEnd);
  const usable = plain === '' ? 'file' : devices.test(plain) ? `_${plain}` : plain;
  const [stem, ending] = split(usable);
  return withoutEnd(`${cut(stem, maxNameBytes - Buffer.byteLength(ending))}${ending}`, badEnd);
}

/**
 * @returns the names in a safe form. If a file system would treat several names as equal, these names get numbers, such as `plan (2).pdf`
 */
export function archiveNames(names: readonly string[]): string[] {
  const usedNames = new Set<string>();
  return names.map((original) => {
    const name = safeName(original);
    const [stem, ending] = split(name);
    let numbered = name;
    for (let number = 2; usedNames.has(foldedName(numbered)); number++) numbered = `${stem} (${number})${ending}`;
    usedNames.add(foldedName(numbered));
    return numbered;
  });
}

/** File systems that ignore case have different rules, so the name is converted to upper case and then to lower case. */
// Stryker disable next-line ArrowFunction: if the function made all names equal, the numbering of names would never end
const foldedName = (name: string) => name.normalize('NFKC').toUpperCase().toLowerCase();

/** @returns the name without its extension, and the extension with its dot */
function split(name: string): [stem: string, ending: string] {
  const ending = /(?<=.)\.[^.]{1,16}$/su.exec(name)?.[0] ?? '';
  return [name.slice(0, name.length - ending.length), ending];
}

/** @returns the beginning of the text, with as many whole characters as fit into this number of bytes */
function cut(text: string, bytes: number): string {
  let head = '';
  let length = 0;
  for (const character of text) {
    length += Buffer.byteLength(character);
    if (length > bytes) break;
    head += character;
  }
  return head;
}
