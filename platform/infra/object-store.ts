/**
 * Files in S3: streamed in or uploaded by callers, read in pieces, served by signed address, copied, erased with all versions. The key
 * of a file names its bucket: what begins with `public/` everybody may read, the rest is private (MED-5).
 */
import type { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  ListObjectVersionsCommand,
  NoSuchKey,
  NotFound,
  PutObjectCommand,
  S3Client,
  UploadPartCopyCommand,
  type CompletedPart,
  type CreateMultipartUploadCommandInput,
  type ListObjectVersionsCommandOutput,
  type S3ClientConfig,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import type { Secret } from '../core/secret.ts';
import { allowOrigins } from './bucket-cors.ts';
import { completeUpload, joinParts, withTimeToJoin, type Joining } from './part-store.ts';
import { sendFile, type SentFile } from './send-file.ts';
import { createAddressSigner } from './signed-addresses.ts';

/** Bytes of an upload in memory: one part at a time, the smallest that S3 takes. */
const partBytes = 5 * 1_024 * 1_024;
/** How long an answer of S3 may take. */
const answerMs = 20_000;

/** Of a copy, so much in one request, which the store answers in time; and so many requests at once. */
const copiedAtOnce = 64 * 1_024 * 1_024;
const copiesAtOnce = 4;

/** An address that is used immediately is good for so long; the store's clock may be behind. */
const sendSeconds = 15 * 60;

/** How often a removal is tried while others remove the same file. */
const removalRounds = 5;

/** A signed request: anybody who has it may make it until it expires. */
export interface SignedRequest {
  url: string;
  /** Names in lower case, each to be sent with this value: they are signed too. */
  headers: Record<string, string>;
}

/** What a file says of itself where it is fetched by an address that is not signed. */
export interface StoredHeaders {
  contentType: string;
  disposition?: string;
  cacheControl?: string;
}

const publicPrefix = 'public/';

/** How the keys of files begin that everybody may read, and of those that only signed addresses open. */
export const keyPrefix = { public: publicPrefix, private: 'media/' } as const;

export interface ObjectStore {
  /** Where the API leads on to public files, without a slash at the end. */
  linksUrl: string;
  /**
   * Stores what the stream brings. If it breaks off, nothing is stored, as far as the store can still be reached.
   * @throws the stream's own error, or the store's
   */
  put(key: string, contentType: string, body: Readable): Promise<void>;
  /** @returns at most `length` bytes from `offset` on, which must be inside the file; undefined where there is no such file */
  read(key: string, offset: number, length: number): Promise<Buffer | undefined>;
  /**
   * @param signal ends the reading
   * @param part of the file, inside it; all of it unless told
   * @returns the file's bytes, which throws where the store sends nothing for some time; undefined where there is no such file
   */
  stream(
    key: string,
    signal: AbortSignal,
    part?: { offset: number; length: number },
  ): Promise<AsyncIterable<Buffer> | undefined>;
  /** @returns how many bytes the file has; undefined where there is none */
  size(key: string): Promise<number | undefined>;
  /**
   * Signs the upload of one file: of this type, of exactly so many bytes, and only while there is none, so that nobody
   * replaces an inspected file. The store refuses every other request, also the second of two at once.
   * @param length in bytes
   * @param seconds how long the address is good, by the store's clock; what was begun in time may end later
   */
  signPut(key: string, contentType: string, length: number, seconds: number): Promise<SignedRequest>;
  /**
   * Stores the body of a request of exactly so many bytes as it comes, and only while there is no such file.
   * @param signal ends it; nothing is stored then, unless the last byte had been sent
   * @returns `exists` where a file is there already, whatever was sent
   * @throws the signal's reason; Error where the body breaks off, or the store does not take it
   */
  putOnce(key: string, contentType: string, length: number, body: Readable, signal: AbortSignal): Promise<SentFile>;
  /**
   * @param answer the headers that the file comes with; absent: as it was stored
   * @param seconds how long the address is good, by the store's clock; absent: at least 15 minutes, and others may have got the same (MED-6)
   * @returns an address that the file can be fetched from
   */
  signGet(key: string, answer?: { disposition: string; contentType: string }, seconds?: number): Promise<string>;
  /** @returns the address at which everybody finds a public file, for as long as it is there @throws Error for a private one */
  publicAddress(key: string): string;
  /**
   * Copies a file inside the store, also into the other bucket. Nothing is there until all of it is.
   * @param headers what the copy says of itself; nothing of the original's stays
   * @param signal ends the copying; what is left of it is removed with the target
   * @returns whether there is such a file
   */
  copy(from: string, to: string, headers: StoredHeaders, signal: AbortSignal): Promise<boolean>;
  /** Leaves nothing of the file but its key, under which nobody can put another one (see `signPut`). */
  empty(key: string): Promise<void>;
  /**
   * Removes the file with every version that the bucket keeps of it, and what uploads that broke off have left. What is not there is
   * removed already.
   */
  remove(key: string): Promise<void>;
  /**
   * Makes the file of a resumable upload whose parts are all there.
   * @param length of the whole file, in bytes
   */
  joinParts(key: string, multipartId: string, length: number): Promise<Joining>;
  /** As `remove`, for every file whose key begins so, and every upload there, but those to keep. */
  removeUnder(prefix: string, isKept?: (key: string) => boolean): Promise<void>;
  /** Ends what uploads to this file have begun and not ended. Its last version stays. */
  endUploads(key: string): Promise<void>;
  /**
   * Sees to it that pages of these origins may send files to signed addresses of the private bucket.
   * @returns whether its rules have changed @throws the store's error, also where our key may not set them
   */
  allowOrigins(origins: readonly string[]): Promise<boolean>;
  close(): void;
}

export interface ObjectStoreSettings {
  endpoint: string;
  region: string;
  accessKeyId: Secret;
  secretAccessKey: Secret;
  privateBucket: string;
  publicBucket: string;
  /** Where everybody finds the files of the public bucket, without a slash at the end. */
  publicFilesUrl: string;
  linksUrl: string;
}

/**
 * @param withinMs how long an answer may take; another one, for tests
 * @returns what a client of the store needs; its connections are shared by all that get the same
 */
export function clientConfig(storage: ObjectStoreSettings, withinMs = answerMs): S3ClientConfig {
  return {
    endpoint: storage.endpoint,
    region: storage.region,
    forcePathStyle: true,
    credentials: {
      accessKeyId: storage.accessKeyId.reveal(),
      secretAccessKey: storage.secretAccessKey.reveal(),
    },
    requestChecksumCalculation: 'WHEN_REQUIRED', // servers other than Amazon's refuse the trailers that it would add
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: 5_000, requestTimeout: withinMs, throwOnRequestTimeout: true },
  };
}

/**
 * @param options.copiedBytes others, for tests: of a copy, so much in one request
 * @param options.answeredWithinMs another one, for tests: how long an answer may take that does not join parts
 */
export function createObjectStore(
  storage: ObjectStoreSettings,
  { copiedBytes = copiedAtOnce, answeredWithinMs }: { copiedBytes?: number; answeredWithinMs?: number } = {},
): ObjectStore {
  const bucketOf = (key: string) => (key.startsWith(publicPrefix) ? storage.publicBucket : storage.privateBucket);
  const client = new S3Client(clientConfig(storage, answeredWithinMs));
  const uploadClient = withTimeToJoin(client);
  const signAddress = createAddressSigner(storage.endpoint, client.config);
  return {
    linksUrl: storage.linksUrl,
    async put(Key, ContentType, Body) {
      const params = { Bucket: bucketOf(Key), Key, ContentType, Body };
      await new Upload({
        client: uploadClient,
        params,
        partSize: partBytes,
        queueSize: 1,
        leavePartsOnError: false,
      }).done();
    },
    async read(Key, offset, length) {
      const Range = `bytes=${offset}-${offset + length - 1}`;
      try {
        const { Body } = await client.send(new GetObjectCommand({ Bucket: bucketOf(Key), Key, Range }));
        return Buffer.from((await Body?.transformToByteArray()) ?? []);
      } catch (error) {
        if (error instanceof NoSuchKey) return undefined;
        throw error;
      }
    },
    async stream(Key, abortSignal, part) {
      const Range = part && `bytes=${part.offset}-${part.offset + part.length - 1}`;
      try {
        const { Body } = await client.send(new GetObjectCommand({ Bucket: bucketOf(Key), Key, Range }), {
          abortSignal,
        });
        return Body && withoutSilence(Body as Readable);
      } catch (error) {
        if (error instanceof NoSuchKey) return undefined;
        throw error;
      }
    },
    async size(Key) {
      try {
        const { ContentLength = 0 } = await client.send(new HeadObjectCommand({ Bucket: bucketOf(Key), Key }));
        return ContentLength;
      } catch (error) {
        if (error instanceof NotFound) return undefined;
        throw error;
      }
    },
    async signPut(Key, ContentType, length, expiresIn) {
      const params = { Bucket: bucketOf(Key), Key, ContentType, ContentLength: length };
      const command = new PutObjectCommand({ ...params, IfNoneMatch: '*' });
      const headers = { 'content-type': ContentType, 'content-length': String(length), 'if-none-match': '*' };
      const signed = new Set([...Object.keys(headers), 'host']);
      const url = await getSignedUrl(client, command, { expiresIn, signableHeaders: signed });
      return { url, headers };
    },
    async putOnce(key, contentType, length, body, signal) {
      return sendFile(await this.signPut(key, contentType, length, sendSeconds), body, signal);
    },
    signGet: (key, answer, seconds) => signAddress({ bucket: bucketOf(key), key, answer, seconds }),
    publicAddress(key) {
      if (!key.startsWith(publicPrefix)) throw new Error('A private file has no public address');
      return `${storage.publicFilesUrl}/${key}`;
    },
    async copy(from, to, { contentType, disposition, cacheControl }, abortSignal) {
      const size = await this.size(from);
      if (size === undefined) return false;
      const source = { from: `${bucketOf(from)}/${from}`, size };
      const target = { Bucket: bucketOf(to), Key: to };
      const headers = { ContentType: contentType, ContentDisposition: disposition, CacheControl: cacheControl };
      try {
        if (size > copiedBytes)
          await copyInParts(client, { ...source, copiedBytes }, { ...target, ...headers }, abortSignal);
        else {
          const whole = { ...target, ...headers, CopySource: source.from, MetadataDirective: 'REPLACE' as const };
          await client.send(new CopyObjectCommand(whole), { abortSignal });
        }
      } catch (error) {
        if (error instanceof Error && /^NoSuchKey$|^NotFound$/.test(error.name)) return false;
        throw error;
      }
      const copied = await this.size(to);
      if (copied !== size) throw new Error(`The store copied ${copied} bytes of ${size}`);
      return true;
    },
    async empty(Key) {
      const Bucket = bucketOf(Key);
      await client.send(new PutObjectCommand({ Bucket, Key, Body: Buffer.alloc(0), ContentLength: 0 }));
      for await (const { VersionId, IsLatest } of versionsOf(client, Bucket, Key))
        if (IsLatest === false) await client.send(new DeleteObjectCommand({ Bucket, Key, VersionId }));
    },
    async remove(Key) {
      for (let round = 1; ; round++) {
        try {
          return await removeOnce(client, bucketOf(Key), Key);
        } catch (error) {
          if (round === removalRounds || !goneMeanwhile(error)) throw error;
        }
      }
    },
    joinParts: (Key, UploadId, length) => joinParts(client, { Bucket: bucketOf(Key), Key, UploadId }, length),
    async removeUnder(Prefix, isKept = () => false) {
      await abortUploads(client, bucketOf(Prefix), Prefix, isKept);
      for (let after: string | undefined; ;) {
        const page = await client.send(
          new ListObjectsV2Command({ Bucket: bucketOf(Prefix), Prefix, StartAfter: after }),
        );
        for (const { Key } of page.Contents ?? []) if (Key !== undefined && !isKept(Key)) await this.remove(Key);
        after = page.Contents?.at(-1)?.Key;
        if (!page.IsTruncated || after === undefined) return;
      }
    },
    endUploads: (Key) => abortUploads(client, bucketOf(Key), Key, (key) => key !== Key),
    async allowOrigins(origins) {
      const own = new S3Client(clientConfig(storage)); // needed once, and what it learns of the store's clock is its own
      return allowOrigins(own, storage.privateBucket, origins).finally(() => own.destroy());
    },
    close: () => client.destroy(),
  };
}

/** What a copy needs that is too large for one request; a copy that breaks off leaves an upload, which goes with its key. */
async function copyInParts(
  client: S3Client,
  { from: CopySource, size, copiedBytes }: { from: string; size: number; copiedBytes: number },
  target: CreateMultipartUploadCommandInput,
  stop: AbortSignal,
): Promise<void> {
  const { Bucket, Key } = target;
  const failed = new AbortController();
  const abortSignal = AbortSignal.any([stop, failed.signal]);
  const { UploadId } = await client.send(new CreateMultipartUploadCommand(target), { abortSignal });
  const parts: CompletedPart[] = [];
  const count = Math.ceil(size / copiedBytes);
  const copyEach = async (first: number) => {
    for (let at = first; at < count; at += copiesAtOnce) {
      const CopySourceRange = `bytes=${at * copiedBytes}-${Math.min(size, (at + 1) * copiedBytes) - 1}`;
      const part = { Bucket, Key, UploadId, PartNumber: at + 1, CopySource, CopySourceRange };
      const { CopyPartResult } = await client.send(new UploadPartCopyCommand(part), { abortSignal });
      parts[at] = { PartNumber: at + 1, ETag: CopyPartResult?.ETag };
    }
  };
  await Promise.all(Array.from({ length: copiesAtOnce }, (_, first) => copyEach(first))).catch((error: unknown) => {
    failed.abort(); // the others do not go on by themselves
    throw error;
  });
  await completeUpload(client, { Bucket, Key, UploadId }, parts, abortSignal);
}

/** @throws Error where nothing comes for as long as an answer may take */
async function* withoutSilence(body: Readable): AsyncGenerator<Buffer> {
  const silence = setTimeout(() => body.destroy(new Error('The store has fallen silent')), answerMs);
  try {
    for await (const piece of body as AsyncIterable<Buffer>) {
      silence.refresh();
      yield piece;
    }
  } finally {
    clearTimeout(silence);
    body.destroy();
  }
}

/** Ends uploads of several parts that have begun and not ended. */
async function abortUploads(
  client: S3Client,
  Bucket: string,
  Prefix: string,
  isKept: (key: string) => boolean = () => false,
): Promise<void> {
  const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket, Prefix }));
  for (const { Key, UploadId } of Uploads.filter(({ Key: key = '' }) => !isKept(key)))
    await client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId })).catch((error: unknown) => {
      if (!goneMeanwhile(error)) throw error;
    });
}

/** @throws the store's error, also where somebody else removes the same file meanwhile */
async function removeOnce(client: S3Client, Bucket: string, Key: string): Promise<void> {
  await abortUploads(client, Bucket, Key);
  await client.send(new DeleteObjectCommand({ Bucket, Key }));
  for await (const { VersionId } of versionsOf(client, Bucket, Key))
    await client.send(new DeleteObjectCommand({ Bucket, Key, VersionId }));
}

/** Amazon's S3 accepts the removal of a missing file. Other servers may refuse it while somebody else removes the same file. */
function goneMeanwhile(error: unknown): boolean {
  return error instanceof Error && /^NoSuch(Key|Upload|Version)$/.test(error.name);
}

/** Some stores know no versions at all. @throws any other error */
function noVersions(error: unknown): ListObjectVersionsCommandOutput {
  if (error instanceof Error && error.name === 'NotImplemented') return { $metadata: {} };
  throw error;
}

/** Versions and delete markers of one file, where versioning is on or was; their names begin with those of other files. */
async function* versionsOf(
  client: S3Client,
  Bucket: string,
  key: string,
): AsyncGenerator<{ VersionId: string; IsLatest: boolean | undefined }> {
  let next: { KeyMarker?: string; VersionIdMarker?: string } = {};
  for (;;) {
    const page = await client.send(new ListObjectVersionsCommand({ Bucket, Prefix: key, ...next })).catch(noVersions);
    for (const { Key, VersionId, IsLatest } of [...(page.Versions ?? []), ...(page.DeleteMarkers ?? [])])
      if (Key === key && VersionId !== undefined) yield { VersionId, IsLatest };
    // Keys are sorted: after ours come other files.
    if (!page.IsTruncated || page.NextKeyMarker !== key) return;
    next = {
      KeyMarker: page.NextKeyMarker,
      ...(page.NextVersionIdMarker && { VersionIdMarker: page.NextVersionIdMarker }),
    };
  }
}
