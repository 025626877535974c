/**
 * Files in S3. Callers stream or upload them; the service reads parts, signs addresses, copies files, and erases them with all versions.
 * The key of a file decides its bucket: everyone may read keys that begin with `public/`; the rest is private (MED-5).
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

/** The size of a part of an upload, in bytes. It is the smallest size that S3 accepts, because an upload keeps one part in memory. */
const partBytes = 5 * 1_024 * 1_024;
/** The longest wait for an answer of S3. */
const answerMs = 20_000;

/**
 * `copiedAtOnce` is the number of bytes of one copy request, which is small enough for the store to answer in time. `copiesAtOnce` is the
 * number of concurrent copy requests.
 */
const copiedAtOnce = 64 * 1_024 * 1_024;
const copiesAtOnce = 4;

/** The lifetime of an address that is used immediately. The store's clock may be slow. */
const sendSeconds = 15 * 60;

/** The maximum number of tries of a removal, if other removals of the same file run at the same time. */
const removalRounds = 5;

/** A signed request. Everyone who has it can send the request until it expires. */
export interface SignedRequest {
  url: string;
  /** Names in lower case. The headers are signed too, so each must be sent with this value. */
  headers: Record<string, string>;
}

/** The headers that a file gets when it is fetched by an unsigned address. */
export interface StoredHeaders {
  contentType: string;
  disposition?: string;
  cacheControl?: string;
}

const publicPrefix = 'public/';

/** The key prefix of public files, and the key prefix of private files. A private file can be read only by a signed address. */
export const keyPrefix = { public: publicPrefix, private: 'media/' } as const;

export interface ObjectStore {
  /** The base address of public files in links of the API, without a trailing slash. */
  linksUrl: string;
  /**
   * Stores the stream as a file. If the stream fails while the store is reachable, nothing is stored.
   * @throws the error of the stream or of the store
   */
  put(key: string, contentType: string, body: Readable): Promise<void>;
  /** @returns at most `length` bytes from `offset`, which must be inside the file; undefined if the file does not exist */
  read(key: string, offset: number, length: number): Promise<Buffer | undefined>;
  /**
   * @param signal ends the reading
   * @param part a range inside the file; the whole file if absent
   * @returns the bytes of the file; undefined if the file does not exist. Reading them throws if the store is silent for some time
   */
  stream(
    key: string,
    signal: AbortSignal,
    part?: { offset: number; length: number },
  ): Promise<AsyncIterable<Buffer> | undefined>;
  /** @returns the size of the file in bytes; undefined if it does not exist */
  size(key: string): Promise<number | undefined>;
  /**
   * Signs a request that uploads one file with this type and exactly this length. The store accepts the request only while the file does
   * not exist, so an inspected file cannot be replaced. If two such requests arrive at the same time, the store accepts only one of them.
   * @param length the length of the file in bytes
   * @param seconds the lifetime of the address by the store's clock; an upload that began in time may end later
   */
  signPut(key: string, contentType: string, length: number, seconds: number): Promise<SignedRequest>;
  /**
   * Streams the body of a request with exactly this length into a file, only while no such file exists.
   * @param signal cancels the upload. Nothing is then stored, unless the last byte had already been sent
   * @returns `exists` if the file already exists, whatever the body contains
   * @throws the signal's reason; Error if the body ends early, or the store refuses it
   */
  putOnce(key: string, contentType: string, length: number, body: Readable, signal: AbortSignal): Promise<SentFile>;
  /**
   * @param answer the headers of the response; the stored headers if absent
   * @param seconds the lifetime of the address by the store's clock. If absent, the address is valid for at least 15 minutes, and other
   * callers may get the same address (MED-6)
   * @returns an address from which the file can be fetched
   */
  signGet(key: string, answer?: { disposition: string; contentType: string }, seconds?: number): Promise<string>;
  /** @returns the permanent public address of a file @throws Error if the file is private */
  publicAddress(key: string): string;
  /**
   * Copies a file inside the store, also into the other bucket. The target appears only when it is complete.
   * @param headers all headers of the copy, which gets no header of the original
   * @param signal cancels the copy. Parts of the canceled copy may then remain in the store. A removal of the target also removes these
   * parts
   * @returns whether the source exists
   */
  copy(from: string, to: string, headers: StoredHeaders, signal: AbortSignal): Promise<boolean>;
  /** Empties the file and keeps its key, so that no other file can be uploaded under this key (see `signPut`). */
  empty(key: string): Promise<void>;
  /** Removes the file with every version that the bucket keeps, and the remains of broken uploads. A missing file counts as removed. */
  remove(key: string): Promise<void>;
  /**
   * Completes the file of a resumable upload whose parts are all stored.
   * @param length the length of the whole file, in bytes
   */
  joinParts(key: string, multipartId: string, length: number): Promise<Joining>;
  /** Removes every file and upload whose key has this prefix, as `remove` does, except the keys to keep. */
  removeUnder(prefix: string, isKept?: (key: string) => boolean): Promise<void>;
  /** Aborts unfinished uploads to this file. The newest version of the file stays. */
  endUploads(key: string): Promise<void>;
  /**
   * Ensures that pages of these origins may upload files to signed addresses of the private bucket.
   * @returns whether the rules have changed @throws the error of the store, for example if our key has no permission to set the rules
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
  /** The public base address of the public bucket, without a trailing slash. */
  publicFilesUrl: string;
  linksUrl: string;
}

/**
 * @param withinMs the longest wait for an answer; tests use another limit
 * @returns the configuration of a client for the store. Clients that use one such configuration share its connections
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
 * @param options.copiedBytes the bytes of a copy in one request; tests use another number
 * @param options.answeredWithinMs the longest wait for an answer, except for joining parts; tests use another limit
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
    async allowOrigins(origins) {
      // This client is used only once, because the clock difference that it measures must not affect other clients.
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
    failed.abort(); // Stops the requests for the other parts.
    throw error;
  });
  await completeUpload(client, { Bucket, Key, UploadId }, parts, abortSignal);
}

/** @throws Error if no bytes come within the time limit of an answer */
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

/** Aborts unfinished multipart uploads. */
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

/** @throws the error of the store, for example if another process removes the same file at the same time */
async function removeOnce(client: S3Client, Bucket: string, Key: string): Promise<void> {
  await abortUploads(client, Bucket, Key);
  await client.send(new DeleteObjectCommand({ Bucket, Key }));
  for await (const { VersionId } of versionsOf(client, Bucket, Key))
    await client.send(new DeleteObjectCommand({ Bucket, Key, VersionId }));
}

/** Amazon's S3 accepts the removal of a missing file. Other servers may refuse it while another process removes the same file. */
function goneMeanwhile(error: unknown): boolean {
  return error instanceof Error && /^NoSuch(Key|Upload|Version)$/.test(error.name);
}

/** Some stores have no versions. @throws any other error */
function noVersions(error: unknown): ListObjectVersionsCommandOutput {
  if (error instanceof Error && error.name === 'NotImplemented') return { $metadata: {} };
  throw error;
}

/** Yields the versions and delete markers of one file, if versioning is or was enabled. The listing by prefix also returns other files. */
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
