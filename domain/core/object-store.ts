/** Files in S3's private bucket: streamed in, read in pieces, removed without a trace. */
import type { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  NoSuchKey,
  S3Client,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import type { Config } from '../../config.ts';

/** Held in memory of an upload: one part at a time, the least that S3 takes. */
const partBytes = 5 * 1_024 * 1_024;
/** No answer of S3 is waited for longer. */
const answerMs = 20_000;

export interface ObjectStore {
  /**
   * Stores what the stream brings. If it breaks off, nothing is stored, as far as the store can still be reached.
   * @throws the stream's own error, or the store's
   */
  put(key: string, contentType: string, body: Readable): Promise<void>;
  /** @returns at most `length` bytes from `offset` on, which must be inside the file; undefined where there is no such file */
  read(key: string, offset: number, length: number): Promise<Buffer | undefined>;
  /** Removes the file, and what uploads that broke off have left of it. What is not there is removed already. */
  remove(key: string): Promise<void>;
  close(): void;
}

export function createObjectStore(storage: Config['storage']): ObjectStore {
  const Bucket = storage.privateBucket;
  const client = new S3Client({
    endpoint: storage.endpoint,
    region: storage.region,
    forcePathStyle: true,
    credentials: {
      accessKeyId: storage.accessKeyId.reveal(),
      secretAccessKey: storage.secretAccessKey.reveal(),
    },
    requestChecksumCalculation: 'WHEN_REQUIRED', // servers other than Amazon's refuse the trailers that it would add
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: 5_000, requestTimeout: answerMs, throwOnRequestTimeout: true },
  });
  return {
    async put(Key, ContentType, Body) {
      const params = { Bucket, Key, ContentType, Body };
      await new Upload({ client, params, partSize: partBytes, queueSize: 1, leavePartsOnError: false }).done();
    },
    async read(Key, offset, length) {
      const Range = `bytes=${offset}-${offset + length - 1}`;
      try {
        const { Body } = await client.send(new GetObjectCommand({ Bucket, Key, Range }));
        return Buffer.from((await Body?.transformToByteArray()) ?? []);
      } catch (error) {
        if (error instanceof NoSuchKey) return undefined;
        throw error;
      }
    },
    async remove(Key) {
      const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket, Prefix: Key }));
      for (const { UploadId } of Uploads) {
        await client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }));
      }
      await client.send(new DeleteObjectCommand({ Bucket, Key }));
    },
    close: () => client.destroy(),
  };
}
