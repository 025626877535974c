/**
 * Files in S3. Callers stream or upload them; the service reads parts, signs addresses, copies files, and erases them with all versions.
 * Everyone may read keys that begin with `public/`; the rest is private (MED-5).
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
import type { Secret } from '../../core/secret.ts';
import { allowOrigins } from './bucket-cors.ts';
import { completeUpload, joinParts, withTimeToJoin, type Joining } from './part-store.ts';
import { sendFile, type SentFile } from './send-file.ts';
import { createAddressSigner } from './signed-addresses.ts';

/** The smallest size that S3 accepts, because an upload keeps one part in memory. */
const partBytes = 5 * 1_024 * 1_024;
const answerMs = 20_000;

/** `copiedAtOnce`: bytes of one copy request, few enough for an answer in time. `copiesAtOnce`: requests at the same time. */
const copiedAtOnce = 64 * 1_024 * 1_024;
const copiesAtOnce = 4;

/** The number of keys in one listing. */
const listedKeys = 200;

/** The address is used immediately, but the store's clock may be slow. */
const sendSeconds = 15 * 60;

/** A removal is repeated if other removals of this file run at the same time. */
const removalRounds = 5;

/** Everyone who has this request can send it until it expires. */
export interface SignedRequest {
  url: string;
  /** Names in lower case. The signature covers them, so each must be sent with this value. */
  headers: Record<string, string>;
}

/** The headers of the file when it is fetched by an unsigned address. */
export interface StoredHeaders {
  contentType: string;
  disposition?: string;
  cacheControl?: string;
}

const publicPrefix = 'public/';

/** A private file can be read only by a signed address. */
export const keyPrefix = { public: publicPrefix, private: 'media/' } as const;

export interface ObjectStore {
  /** The beginning of links in the API, without a trailing slash. */
  linksUrl: string;
  /** If the stream fails while the store is reachable, nothing is stored. */
  put(key: string, contentType: string, body: Readable): Promise<void>;
  /** @returns at most `length` bytes from `offset`, which must be inside the file; undefined if the file does not exist */
  read(key: string, offset: number, length: number): Promise<Buffer | undefined>;
  /**
   * @param signal ends the reading
   * @param part the whole file if absent
   * @returns undefined if the file does not exist. Reading throws if the store is silent for some time
   */
  stream(
    key: string,
    signal: AbortSignal,
    part?: { offset: number; length: number },
  ): Promise<AsyncIterable<Buffer> | undefined>;
  /** @returns undefined if the file does not exist */
  size(key: string): Promise<number | undefined>;
  /**
   * Signs an upload of one file with this type and exactly this length. The store accepts it only while the file does not exist, so an
   * inspected file cannot be replaced.
   * @param length in bytes
   * @param seconds by the store's clock; an upload that began in time may end later
   */
  signPut(key: string, contentType: string, length: number, seconds: number): Promise<SignedRequest>;
  /**
   * Streams a body of exactly this length into a file, only while no such file exists.
   * @param signal cancels the upload. Then nothing is stored, unless the last byte had already been sent
   * @returns `exists` if the file already exists
   * @throws the signal's reason; Error if the body ends early, or the store refuses it
   */
  putOnce(key: string, contentType: string, length: number, body: Readable, signal: AbortSignal): Promise<SentFile>;
  /**
   * @param answer headers of the response; the stored headers if absent
   * @param seconds by the store's clock. If absent, at least 15 minutes, and other callers may get this address (MED-6)
   */
  signGet(key: string, answer?: { disposition: string; contentType: string }, seconds?: number): Promise<string>;
  /** @returns the permanent public address @throws Error if the file is private */
  publicAddress(key: string): string;
  /**
   * Copies inside the store, also into the other bucket. The target appears only when it is complete.
   * @param headers all headers of the copy, which gets no header of the original
   * @param signal cancels the copy. A removal of the target also removes the parts that then remain
   * @returns whether the source exists
   */
  copy(from: string, to: string, headers: StoredHeaders, signal: AbortSignal): Promise<boolean>;
  /** Empties the file but keeps the key, so that no other file can be uploaded under it (see `signPut`). */
  empty(key: string): Promise<void>;
  /** Removes the file, every version in the bucket, and the remains of broken uploads. A missing file counts as removed. */
  remove(key: string): Promise<void>;
  /**
   * Completes a resumable upload whose parts are all stored.
   * @param length in bytes
   */
  joinParts(key: string, multipartId: string, length: number): Promise<Joining>;
  /** Removes every file and upload with this prefix, as `remove` does, except the keys to keep. */
  removeUnder(prefix: string, isKept?: (key: string) => boolean): Promise<void>;
  /** Aborts unfinished uploads. The newest version of the file stays. */
  endUploads(key: string): Promise<void>;
  /** Aborts every unfinished upload of a key with this prefix. */
  endUploadsUnder(prefix: string): Promise<void>;
  /** @returns at most some hundred keys with this prefix, also of deleted files that have older versions; none if no file remains */
  listKeys(prefix: string): Promise<string[]>;
  /**
   * Lets pages of these origins upload files to signed addresses of the private bucket.
   * @returns whether the rules have changed @throws the error of the store, for example if our key may not set the rules
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
  /** The address of the public bucket, without a trailing slash. */
  publicFilesUrl: string;
  linksUrl: string;
}

/**
 * @param withinMs for an answer; tests use another limit
 * @returns a configuration; all clients with it share its connections
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
    requestChecksumCalculation: 'WHEN_REQUIRED', // Otherwise the client adds trailers, which servers other than Amazon's refuse.
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: 5_000, requestTimeout: withinMs, throwOnRequestTimeout: true },
  };
}

/**
 * @param options.copiedBytes of a copy in one request; for tests
 * @param options.answeredWithinMs except for joining parts; for tests
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
      if (!key.startsWith(publicPrefix))
        throw new Error('The key belongs to a private file, but a public file is needed');
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
    endUploadsUnder: (Prefix) => abortUploads(client, bucketOf(Prefix), Prefix),
    async listKeys(Prefix) {
      const page = { Bucket: bucketOf(Prefix), Prefix, MaxKeys: listedKeys };
      const { Versions = [], DeleteMarkers = [] } = await client
        .send(new ListObjectVersionsCommand(page))
        .catch(noVersions);
      const { Contents = [] } = await client.send(new ListObjectsV2Command(page));
      return [...new Set([...Versions, ...DeleteMarkers, ...Contents].flatMap(({ Key }) => Key ?? []))];
    },
    async allowOrigins(origins) {
      // This client is used only once: the clock difference that it measures must not affect other clients.
      const own = new S3Client(clientConfig(storage));
      return allowOrigins(own, storage.privateBucket, origins).finally(() => own.destroy());
    },
    close: () => client.destroy(),
  };
}

/** Copies a file that is too large for one request. If the copy fails, its upload stays until its key is removed. */
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
    failed.abort();
    throw error;
  });
  await completeUpload(client, { Bucket, Key, UploadId }, parts, abortSignal);
}

/** @throws Error if no bytes come within the time limit */
async function* withoutSilence(body: Readable): AsyncGenerator<Buffer> {
  const silence = setTimeout(() => body.destroy(new Error('The store sent no bytes in time')), answerMs);
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

async function abortUploads(
  client: S3Client,
  Bucket: string,
  Prefix: string,
  isKept: (key: string) => boolean = () => false,
): Promise<void> {
  let next: { KeyMarker?: string; UploadIdMarker?: string } = {};
  for (;;) {
    const page = await client.send(new ListMultipartUploadsCommand({ Bucket, Prefix, ...next }));
    for (const { Key, UploadId } of (page.Uploads ?? []).filter(({ Key: key = '' }) => !isKept(key)))
      await client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId })).catch((error: unknown) => {
        if (!goneMeanwhile(error)) throw error;
      });
    if (!page.IsTruncated || page.NextKeyMarker === undefined || page.NextKeyMarker === next.KeyMarker) return;
    next = {
      KeyMarker: page.NextKeyMarker,
      ...(page.NextUploadIdMarker && { UploadIdMarker: page.NextUploadIdMarker }),
    };
  }
}

/** @throws the error of the store, for example if another process removes this file at the same time */
async function removeOnce(client: S3Client, Bucket: string, Key: string): Promise<void> {
  await abortUploads(client, Bucket, Key);
  await client.send(new DeleteObjectCommand({ Bucket, Key }));
  for await (const { VersionId } of versionsOf(client, Bucket, Key))
    await client.send(new DeleteObjectCommand({ Bucket, Key, VersionId }));
}

/** Amazon's S3 accepts the removal of a missing file. Other servers may refuse it while another process removes the file. */
function goneMeanwhile(error: unknown): boolean {
  return error instanceof Error && /^NoSuch(Key|Upload|Version)$/.test(error.name);
}

/** Some stores have no versions. Then the list is empty. @throws any other error */
function noVersions(error: unknown): ListObjectVersionsCommandOutput {
  if (error instanceof Error && error.name === 'NotImplemented') return { $metadata: {} };
  throw error;
}

/** The listing by prefix also returns other files. */
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
    // Keys are sorted, so the following keys belong to other files.
    if (!page.IsTruncated || page.NextKeyMarker !== key) return;
    next = {
      KeyMarker: page.NextKeyMarker,
      ...(page.NextVersionIdMarker && { VersionIdMarker: page.NextVersionIdMarker }),
    };
  }
}
