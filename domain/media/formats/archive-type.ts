/**
 * Detects the type of a ZIP archive by its directory: an office document, an e-book or a plain archive. If the main part of a document has
 * an unusual name, the two parts with this name are unpacked.
 */
import { Readable } from 'node:stream';
import { fromRandomAccessReaderPromise, RandomAccessReader, type Entry, type ZipFile } from 'yauzl';
import { decodeXml } from '../../../platform/core/text/xml.ts';
import type { ArchiveType } from '../media.policy.ts';
import { contentTypesPart, mainPartOf, packageRelations } from '../../../platform/core/text/office-parts.ts';

const office = 'application/vnd.openxmlformats-officedocument';
/** The usual names of main parts in Office Open XML, in lower or upper case. */
const mainParts: ReadonlyMap<string, ArchiveType> = new Map([
  ['word/document.xml', `${office}.wordprocessingml.document`],
  ['ppt/presentation.xml', `${office}.presentationml.presentation`],
  ['xl/workbook.xml', `${office}.spreadsheetml.sheet`],
]);
/** The content types of documents. Templates, and documents with macros, are not in this list. */
const mainContents: ReadonlyMap<string, ArchiveType> = new Map(
  [...mainParts.values()].map((type) => [`${type}.main+xml`, type]),
);
/**
 * The parts that name the main part usually have some kilobytes, and grow by about 200 kilobytes for each thousand parts of the document.
 */
const maxNamingBytes = 1_024 * 1_024;
/** The name of the first entry in OpenDocument and EPUB. The entry is not compressed and contains the type. */
const mimeEntry = 'mimetype';
const statedTypes: readonly ArchiveType[] = [
  'application/vnd.oasis.opendocument.text',
  'application/vnd.oasis.opendocument.presentation',
  'application/vnd.oasis.opendocument.spreadsheet',
  'application/epub+zip',
];
const zipMark = Buffer.from('PK\u0003\u0004', 'latin1');
const firstName = 30;
/** Documents have some hundreds of parts. Larger archives are refused. */
const maxEntries = 4_096;
/** The maximum number of reads for one directory. */
const maxReads = 64;
const windowBytes = 128 * 1_024;

/** @returns the bytes from `offset` on, at most `length` of them */
export type Read = (offset: number, length: number) => Promise<Buffer>;

/**
 * Detects the type of an archive. It unpacks at most two parts of a megabyte each. @param head the first bytes @returns undefined for a
 * file that is not a readable archive, or for an archive with more than 4,096 entries
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
    return undefined; // the archive cannot be read, so its type is unknown
  }
}

function statedType(head: Buffer): ArchiveType | undefined {
  const says = (text: string) => head.toString('latin1', firstName, firstName + text.length) === text;
  return statedTypes.find((type) => says(mimeEntry + type));
}

/** @returns undefined if the archive is not an office document; the whole directory was read in this case */
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
  // Every office document has this part. A plain archive with a document inside does not.
  if (!entryOf(contentTypesPart)) return undefined;
  const textOf = async (name: string) => unpack(zip, entryOf(name), failure);
  const parts = { relations: await textOf(packageRelations), contentTypes: await textOf(contentTypesPart) };
  const main = mainPartOf(parts, (name) => entryOf(name) !== undefined);
  return mainContents.get(main?.contentType ?? '');
}

/** @returns undefined for a part that is missing, too long or damaged @throws the error of the store */
async function unpack(
  zip: ZipFile,
  entry: Entry | undefined,
  failure: () => Error | undefined,
): Promise<string | undefined> {
  if (!entry || Math.max(entry.compressedSize, entry.uncompressedSize) > maxNamingBytes) return undefined;
  const parts: Buffer[] = [];
  try {
    // The stream throws an error if the part is longer than the archive's directory says.
    for await (const part of await zip.openReadStreamPromise(entry)) parts.push(part as Buffer);
  } catch (error) {
    if (failure()) throw error;
    return undefined;
  }
  return decodeXml(Buffer.concat(parts));
}

/** Passes the bytes of the archive to yauzl in large pieces, so that the store gets only few requests. */
class ArchiveInStore extends RandomAccessReader {
  /** The error of the store, if a read failed. Undefined if the archive is broken but the store has answered. */
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
