/**
 * Stores resumable uploads as multipart uploads of S3. The class extends the store of @tus/s3-store, with these differences:
 * - The caller stores the id of an upload, so no object `.info` exists. The holder of the upload's lock writes the id once.
 * - All parts except the last have the same size. A part counts only if all parts before it exist.
 * - Bytes that are too few for a part are called a remainder. A remainder is stored as a separate object `<key>.part-<n>`, and
 *   follows after n parts. If a late request stores a remainder that does not follow after the existing parts, that remainder is ignored.
 * - A remainder is removed only after a whole part has replaced it. So no acknowledged byte is lost if a process dies.
 * - Bytes pass through two buffers of one part each, and through no file.
 */
import type { Readable } from 'node:stream';
import {
  ListPartsCommand,
  CompleteMultipartUploadCommand,
  type CompletedPart,
  type Part,
  type S3Client,
} from '@aws-sdk/client-s3';
import { S3Store, type MetadataValue, type Options } from '@tus/s3-store';
import { ERRORS, TUS_RESUMABLE, Upload } from '@tus/server';

/** 10 GB have 1,280 parts, and S3 accepts 10,000. */
export const partBytes = 8 * 1_024 * 1_024;

/** Some stores copy the parts into the file, which takes half a minute for ten gigabytes. The file listener waits longer, 120 s. */
const joinedWithinMs = 100_000;

/** Remainders are smaller than a part. */
const incompletePrefix = (key: string) => `${key}.part-`;

export interface UploadRecord {
  key: string;
  /** In bytes. */
  length: number;
  /** undefined if the upload has not begun. */
  multipartId: () => string | undefined;
  /** @param multipartId undefined if the upload is abandoned @returns false if the record can no longer change */
  note: (multipartId: string | undefined) => Promise<boolean>;
}

function withoutGap(parts: readonly Part[], length: number): Part[] {
  const sorted = parts.toSorted((one, other) => (one.PartNumber ?? 0) - (other.PartNumber ?? 0));
  const end = sorted.findIndex(({ PartNumber, Size }, at) => {
    const size = Math.min(partBytes, length - at * partBytes);
    return PartNumber !== at + 1 || Size !== size;
  });
  return end < 0 ? sorted : sorted.slice(0, end);
}

/** `gone`: another request has erased the parts, has joined them, or is joining them now. */
export type Joining = 'joined' | 'incomplete' | 'gone';

export async function joinParts(
  client: S3Client,
  place: { Bucket: string; Key: string; UploadId: string },
  length: number,
): Promise<Joining> {
  try {
    const found: Part[] = [];
    for (let PartNumberMarker: string | undefined; ;) {
      const page = await client.send(new ListPartsCommand({ ...place, ...(PartNumberMarker && { PartNumberMarker }) }));
      found.push(...(page.Parts ?? []));
      PartNumberMarker = page.NextPartNumberMarker;
      if (!page.IsTruncated || !PartNumberMarker) break;
    }
    const parts = withoutGap(found, length);
    if (parts.length < Math.ceil(length / partBytes)) return 'incomplete';
    const Parts = parts.map(({ ETag, PartNumber }) => ({ ETag, PartNumber }));
    await completeUpload(client, place, Parts);
    return 'joined';
  } catch (error) {
    if (error instanceof Error && error.name === 'NoSuchUpload') return 'gone';
    throw error;
  }
}

/** May take minutes. */
export async function completeUpload(
  client: S3Client,
  place: { Bucket: string | undefined; Key: string | undefined; UploadId: string | undefined },
  Parts: CompletedPart[],
  abortSignal?: AbortSignal,
): Promise<void> {
  const command = new CompleteMultipartUploadCommand({ ...place, MultipartUpload: { Parts } });
  await client.send(command, { requestTimeout: joinedWithinMs, ...(abortSignal && { abortSignal }) });
}

/**
 * A client for the package lib-storage, which gives all its requests the timeout of an ordinary request.
 * @returns a client that completes an upload with the timeout of `completeUpload`
 */
export function withTimeToJoin(client: S3Client): S3Client {
  const send = (command: object, options?: object) => {
    const isEnd = command instanceof CompleteMultipartUploadCommand;
    return client.send(command as never, (isEnd ? { requestTimeout: joinedWithinMs, ...options } : options) as never);
  };
  return Object.assign(Object.create(client) as S3Client, { send });
}

/** An object of this class serves one upload during one request. */
export class PartStore extends S3Store {
  readonly #record: UploadRecord;
  /** The number of parts before the first missing part, by the last listing. */
  #whole = 0;

  constructor(s3ClientConfig: Options['s3ClientConfig'], record: UploadRecord) {
    super({ s3ClientConfig, partSize: partBytes, minPartSize: partBytes, useTags: false });
    this.#record = record;
    this.extensions = ['creation', 'termination'];
  }

  /** A second creation finds the first upload. */
  override async create(upload: Upload): Promise<Upload> {
    return this.#record.multipartId() === undefined ? super.create(upload) : upload;
  }

  protected override async saveMetadata(upload: Upload, UploadId: string): Promise<void> {
    if (await this.#record.note(UploadId)) return;
    await this.client.abortMultipartUpload({ Bucket: this.bucket, Key: upload.id, UploadId });
    throw ERRORS.FILE_NO_LONGER_EXISTS;
  }

  protected override async getMetadata(id: string): Promise<MetadataValue> {
    const multipartId = this.#record.multipartId();
    if (multipartId === undefined) throw ERRORS.FILE_NOT_FOUND;
    const file = new Upload({ id, size: this.#record.length, offset: 0 });
    return { file, 'upload-id': multipartId, 'tus-version': TUS_RESUMABLE };
  }

  protected override async retrieveParts(id: string, partNumberMarker?: string): Promise<Part[]> {
    const parts = await super.retrieveParts(id, partNumberMarker);
    if (partNumberMarker !== undefined) return parts; // The base class calls this again for each further page.
    const whole = withoutGap(parts, this.#record.length);
    this.#whole = whole.length;
    return whole;
  }

  protected override partKey(id: string, isIncomplete = false): string {
    return isIncomplete ? `${incompletePrefix(id)}${this.#whole}` : id;
  }

  /** @returns the new offset @throws the error of the stream, after the bytes before it were stored */
  override async write(source: Readable, id: string, offset: number): Promise<number> {
    const metadata = await this.getMetadata(id);
    const { length } = this.#record;
    let number = (await this.retrieveParts(id)).length;
    const restKey = this.partKey(id, true);
    let filled = await this.#readIncomplete(id, number * partBytes, offset);
    const buffers = [filled.buffer, Buffer.allocUnsafe(partBytes)] as const;
    let at = offset;
    let sending: Promise<unknown> = Promise.resolve();
    let failure: unknown;
    try {
      for await (const piece of source as AsyncIterable<Buffer>) {
        for (let from = 0; from < piece.length;) {
          const copiedBytes = piece.copy(filled.buffer, filled.bytes, from, from + partBytes - filled.bytes);
          [from, at] = [from + copiedBytes, at + copiedBytes];
          filled.bytes += copiedBytes;
          if (filled.bytes < partBytes && at < length) continue;
          await sending;
          sending = this.uploadPart(metadata, filled.buffer.subarray(0, filled.bytes), ++number);
          sending.catch(() => {}); // the promise is awaited below, or before the next part is sent
          filled = { buffer: filled.buffer === buffers[0] ? buffers[1] : buffers[0], bytes: 0 };
        }
      }
    } catch (error) {
      failure = error;
    }
    await sending;
    const isContinued = number > this.#whole;
    this.#whole = number;
    if (filled.bytes > 0 && at > offset) await this.#storeIncomplete(id, filled.buffer.subarray(0, filled.bytes));
    if (isContinued) await this.client.deleteObject({ Bucket: this.bucket, Key: restKey });
    if (at === length) await this.#join(metadata);
    if (failure !== undefined) throw failure;
    return at;
  }

  async #readIncomplete(id: string, from: number, offset: number): Promise<{ buffer: Buffer; bytes: number }> {
    const buffer = Buffer.allocUnsafe(partBytes);
    let bytes = 0;
    for await (const piece of (await this.getIncompletePart(id)) ?? []) {
      bytes += (piece as Buffer).copy(buffer, bytes);
    }
    if (from + bytes !== offset) throw ERRORS.INVALID_OFFSET; // Another request has written bytes since this request read the offset.
    return { buffer, bytes };
  }

  async #join({ file, 'upload-id': UploadId }: MetadataValue): Promise<void> {
    const parts = (await this.retrieveParts(file.id)).map(({ ETag, PartNumber }) => ({ ETag, PartNumber }));
    await completeUpload(this.client, { Bucket: this.bucket, Key: file.id, UploadId }, parts);
  }

  async #storeIncomplete(id: string, Body: Buffer): Promise<void> {
    await this.client.putObject({ Bucket: this.bucket, Key: this.partKey(id, true), Body });
  }

  /**
   * First removes the upload's id from the caller's record. Otherwise the record would name a missing upload, which would count as
   * complete.
   */
  override async remove(id: string): Promise<void> {
    const { 'upload-id': UploadId } = await this.getMetadata(id);
    await this.retrieveParts(id);
    if (!(await this.#record.note(undefined))) throw ERRORS.FILE_NO_LONGER_EXISTS;
    await this.client.abortMultipartUpload({ Bucket: this.bucket, Key: id, UploadId });
    await this.client.deleteObject({ Bucket: this.bucket, Key: this.partKey(id, true) });
  }
}
