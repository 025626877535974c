/**
 * What a ZIP archive is: a document of an office, a book, or an archive; its directory, which stands at its end, says so. Where
 * the main part of a document has an unusual name, the two parts that name it are unpacked.
 */
import { Readable } from 'node:stream';
import { fromRandomAccessReaderPromise, RandomAccessReader, type Entry, type ZipFile } from 'yauzl';
import { decodeXml } from '../../../platform/core/xml.ts';
import type { ArchiveType } from '../media.policy.ts';
import { contentTypesPart, mainPartOf, packageRelations } from '../../../platform/core/office-parts.ts';

const office = 'application/vnd.openxmlformats-officedocument';
/** Of Office Open XML: the usual names of main parts. Names are the same in any case. */
const mainParts: ReadonlyMap<string, ArchiveType> = new Map([
  ['word/document.xml', `${office}.wordprocessingml.document`],
  ['ppt/presentation.xml', `${office}.presentationml.presentation`],
  ['xl/workbook.xml', `${office}.spreadsheetml.sheet`],
]);
/** Documents, and neither templates nor those with macros. */
const mainContents: ReadonlyMap<string, ArchiveType> = new Map(
  [...mainParts.values()].map((type) => [`${type}.main+xml`, type]),
);
/** The parts that name the main part have some kilobytes, and 200 for each thousand parts: longer ones are not unpacked. */
const maxNamingBytes = 1_024 * 1_024;
/** OpenDocument and EPUB say what they are in their first entry, which is stored as it is and has this name. */
const mimeEntry = 'mimetype';
const statedTypes: readonly ArchiveType[] = [
  'application/vnd.oasis.opendocument.text',
  'application/vnd.oasis.opendocument.presentation',
  'application/vnd.oasis.opendocument.spreadsheet',
  'application/epub+zip',
];
const zipMark = Buffer.from('PK\u0003\u0004', 'latin1');
/** Where the name of the first entry begins. */
const firstName = 30;
/** Documents have some hundreds of parts: an archive whose directory names more is none that may be uploaded. */
const maxEntries = 4_096;
/** A directory that takes more reads is looked at no further. */
const maxReads = 64;
/** Read of the archive at a time. */
const windowBytes = 128 * 1_024;

/** @returns the bytes from `offset` on, at most `length` of them */
export type Read = (offset: number, length: number) => Promise<Buffer>;

/**
 * Unpacks two parts at most, of a megabyte each.
 * @param head the first bytes
 * @returns undefined for what is no archive that can be read, and for one of more than 4,096 entries
 * @throws whatever `read` throws
 */
export async function archiveTypeOf(read: Read, sizeBytes: number, head: Buffer): Promise<ArchiveType | undefined> {
  if (!head.subarray(0, zipMark.length).equals(zipMark)) return undefined;
  const archive = new ArchiveInStore(read);
  try {
    const zip = await fromRandomAccessReaderPromise(archive, sizeBytes, { lazyEntries: true, autoClose: false });
    if (zip.entryCount > maxEntries) return undefined;
    return statedType(head) ?? (await officeTypeOf(zip, () => archive.failure)) ?? 'application/zip';
  } catch (error) {
    if (archive.failure) throw archive.failure;
    if (!(error instanceof Error)) throw error;
    return undefined; // no archive that can be read
  }
}

function statedType(head: Buffer): ArchiveType | undefined {
  const says = (text: string) => head.toString('latin1', firstName, firstName + text.length) === text;
  return statedTypes.find((type) => says(mimeEntry + type));
}

/** @returns undefined for any other archive, whose directory was read to its end */
async function officeTypeOf(zip: ZipFile, failure: () => Error | undefined): Promise<ArchiveType | undefined> {
  const entries = new Map<string, Entry>();
  let type: ArchiveType | undefined;
  let count = 0;
  const entryOf = (name: string) => entries.get(name.toLowerCase());
  for await (const entry of zip.eachEntry()) {
    if (++count > maxEntries) throw new Error('The directory names more entries than it states');
    const name = entry.fileName.toLowerCase();
    entries.set(name, entry);
    type ??= mainParts.get(name);
    if (type && entryOf(contentTypesPart)) return type;
  }
  // Every such document has it; other archives that hold one somewhere do not.
  if (!entryOf(contentTypesPart)) return undefined;
  const textOf = async (name: string) => unpacked(zip, entryOf(name), failure);
  const parts = { relations: await textOf(packageRelations), contentTypes: await textOf(contentTypesPart) };
  const main = mainPartOf(parts, (name) => entryOf(name) !== undefined);
  return mainContents.get(main?.contentType ?? '');
}

/** @returns undefined for a part that is not there, too long, or cannot be unpacked @throws whatever the store threw */
async function unpacked(
  zip: ZipFile,
  entry: Entry | undefined,
  failure: () => Error | undefined,
): Promise<string | undefined> {
  if (!entry || Math.max(entry.compressedSize, entry.uncompressedSize) > maxNamingBytes) return undefined;
  const parts: Buffer[] = [];
  try {
    // It breaks off where more is unpacked than the entry says.
    for await (const part of await zip.openReadStreamPromise(entry)) parts.push(part as Buffer);
  } catch (error) {
    if (failure()) throw error;
    return undefined;
  }
  return decodeXml(Buffer.concat(parts));
}

/** The archive's bytes as yauzl asks for them: some at a time, one after the other, so that few requests are made. */
class ArchiveInStore extends RandomAccessReader {
  /** What the store threw, where it was not the archive that could not be read. */
  failure: Error | undefined;
  readonly #read: Read;
  #window: { start: number; bytes: Buffer } = { start: 0, bytes: Buffer.alloc(0) };
  #reads = 0;

  constructor(read: Read) {
    super();
    this.#read = read;
  }

  override _readStreamForRange(start: number, end: number): Readable {
    return Readable.from(this.#piece(start, end));
  }

  async *#piece(start: number, end: number): AsyncGenerator<Buffer> {
    yield await this.#bytes(start, end - start);
  }

  async #bytes(position: number, length: number): Promise<Buffer> {
    const { start, bytes } = this.#window;
    if (position < start || position + length > start + bytes.length) {
      if (++this.#reads > maxReads) throw new Error('The directory of an archive is too long');
      this.#window = { start: position, bytes: await this.#fetch(position, Math.max(length, windowBytes)) };
    }
    const from = position - this.#window.start;
    return this.#window.bytes.subarray(from, from + length);
  }

  async #fetch(position: number, length: number): Promise<Buffer> {
    try {
      return await this.#read(position, length);
    } catch (error) {
      this.failure = error instanceof Error ? error : new Error('The store failed');
      throw this.failure;
    }
  }
}
