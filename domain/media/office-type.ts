/** Whether a file is a DOCX or a PPTX: a ZIP archive whose directory, which stands at its end, names the main part of one. */
import { Readable } from 'node:stream';
import { fromRandomAccessReaderPromise, RandomAccessReader } from 'yauzl';
import { indexingRules } from '../knowledge/indexing/indexing.policy.ts';
import type { ContentType } from './media.policy.ts';

const mainParts: ReadonlyMap<string, ContentType> = new Map([
  ['word/document.xml', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
  ['ppt/presentation.xml', 'application/vnd.openxmlformats-officedocument.presentationml.presentation'],
]);
/** Every such document has it; other archives that hold one somewhere do not. */
const contentTypesPart = '[Content_Types].xml';
const zipMark = Buffer.from('PK\u0003\u0004', 'latin1');
/** Documents have some hundreds of parts: a directory that takes more reads, or names more, is looked at no further. */
const maxReads = 64;
/** Read of the archive at a time. */
const windowBytes = 128 * 1_024;

/** @returns the bytes from `offset` on, at most `length` of them */
export type Read = (offset: number, length: number) => Promise<Buffer>;

/**
 * @param head the first bytes
 * @returns undefined for what is no such document @throws whatever `read` throws
 */
export async function officeTypeOf(read: Read, sizeBytes: number, head: Buffer): Promise<ContentType | undefined> {
  if (!head.subarray(0, zipMark.length).equals(zipMark)) return undefined;
  const archive = new ArchiveInStore(read);
  try {
    const zip = await fromRandomAccessReaderPromise(archive, sizeBytes, { lazyEntries: true, autoClose: false });
    if (zip.entryCount > indexingRules.maxEntries) return undefined; // nor could it be indexed
    let hasContentTypes = false;
    let type: ContentType | undefined;
    for await (const { fileName } of zip.eachEntry()) {
      hasContentTypes ||= fileName === contentTypesPart;
      type ??= mainParts.get(fileName);
      if (hasContentTypes && type) return type;
    }
  } catch (error) {
    if (archive.failure) throw archive.failure;
    if (!(error instanceof Error)) throw error;
  }
  return undefined; // no archive that can be read, or another one
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
