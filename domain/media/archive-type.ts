/** What a ZIP archive is: a document of an office, a book, or an archive; its directory, which stands at its end, says so. */
import { Readable } from 'node:stream';
import { fromRandomAccessReaderPromise, RandomAccessReader, type Entry } from 'yauzl';
import type { ArchiveType } from './media.policy.ts';

const office = 'application/vnd.openxmlformats-officedocument';
/** Of Office Open XML. */
const mainParts: ReadonlyMap<string, ArchiveType> = new Map([
  ['word/document.xml', `${office}.wordprocessingml.document`],
  ['ppt/presentation.xml', `${office}.presentationml.presentation`],
  ['xl/workbook.xml', `${office}.spreadsheetml.sheet`],
]);
/** Every such document has it; other archives that hold one somewhere do not. */
const contentTypesPart = '[Content_Types].xml';
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
 * Unpacks nothing.
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
    return statedType(head) ?? (await officeTypeOf(zip.eachEntry())) ?? 'application/zip';
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
async function officeTypeOf(entries: AsyncIterable<Entry>): Promise<ArchiveType | undefined> {
  let hasContentTypes = false;
  let type: ArchiveType | undefined;
  let count = 0;
  for await (const { fileName } of entries) {
    if (++count > maxEntries) throw new Error('The directory names more entries than it states');
    hasContentTypes ||= fileName === contentTypesPart;
    type ??= mainParts.get(fileName);
    if (hasContentTypes && type) return type;
  }
  return undefined;
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
