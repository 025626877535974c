/** The S3 server of the test run: the object store on its private bucket, and a plain client that reads the bucket directly. */
import {
  GetObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  ListObjectVersionsCommand,
  ListPartsCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
  type ListObjectVersionsCommandOutput,
} from '@aws-sdk/client-s3';
import { readConfig } from '../../../config.ts';
import { createObjectStore, type ObjectStore } from '../../../platform/infra/store/object-store.ts';
import { atEndOfFile } from '../../run/lifecycle.ts';
import { testStack } from './stack.ts';

let store: ObjectStore | undefined;
let client: S3Client | undefined;

/** @returns the product's object store, which is opened at first use and closed at the end of the test file */
export async function testObjectStore(): Promise<ObjectStore> {
  await testStack();
  if (store) return store;
  atEndOfFile(closeStore);
  return (store = createObjectStore(readConfig().storage));
}

/**
 * Closes the store and the client. The next use opens new ones. A test that has moved the clock must call this function, because both
 * remember the offset from the server's clock.
 */
export function closeStorage(): void {
  closeStore();
  closeClient();
}

function closeStore(): void {
  store?.close();
  store = undefined;
}

function closeClient(): void {
  client?.destroy();
  client = undefined;
}

interface TestBucket {
  /** The keys of all objects of both buckets, including all versions and delete markers. */
  everyVersion(): Promise<string[]>;
  /** The keys of the stored objects that begin with `prefix`, by default in the private bucket. */
  objects(prefix: string, bucket?: string): Promise<string[]>;
  openUploads(prefix: string): Promise<string[]>;
  storedParts(prefix: string): Promise<number>;
  contentOf(key: string, bucket?: string): Promise<Buffer>;
  store(key: string, bytes: Buffer, bucket?: string): Promise<void>;
  storePart(key: string, uploadId: string, number: number, bytes: Buffer): Promise<void>;
}

export async function testBucket(): Promise<TestBucket> {
  await testStack();
  const { privateBucket: Bucket, publicBucket } = readConfig().storage;
  const s3 = (client ??= openClient());
  return {
    async everyVersion() {
      const keys: string[] = [];
      for (const bucket of [Bucket, publicBucket])
        for await (const page of paginateListObjectVersions(s3, bucket))
          keys.push(...[...(page.Versions ?? []), ...(page.DeleteMarkers ?? [])].map(({ Key = '' }) => Key));
      return keys;
    },
    async objects(prefix, bucket = Bucket) {
      const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix }));
      return Contents.map(({ Key = '' }) => Key);
    },
    async openUploads(prefix) {
      const { Uploads = [] } = await s3.send(new ListMultipartUploadsCommand({ Bucket, Prefix: prefix }));
      return Uploads.map(({ Key = '' }) => Key);
    },
    async storedParts(prefix) {
      const { Uploads = [] } = await s3.send(new ListMultipartUploadsCommand({ Bucket, Prefix: prefix }));
      const lists = await Promise.all(
        Uploads.map(({ Key, UploadId }) => s3.send(new ListPartsCommand({ Bucket, Key, UploadId }))),
      );
      return lists.reduce((sum, { Parts = [] }) => sum + Parts.length, 0);
    },
    async contentOf(Key, bucket = Bucket) {
      const { Body } = await s3.send(new GetObjectCommand({ Bucket: bucket, Key }));
      return Buffer.from((await Body?.transformToByteArray()) ?? []);
    },
    async store(Key, bytes, bucket = Bucket) {
      await s3.send(new PutObjectCommand({ Bucket: bucket, Key, Body: bytes }));
    },
    async storePart(Key, UploadId, PartNumber, Body) {
      await s3.send(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber, Body }));
    },
  };
}

/** Reads all pages of a list of versions, because the bucket of the run contains files of many tests. */
async function* paginateListObjectVersions(
  s3: S3Client,
  Bucket: string,
): AsyncGenerator<ListObjectVersionsCommandOutput> {
  for (let markers: { KeyMarker?: string; VersionIdMarker?: string } | undefined = {}; markers;) {
    const page: ListObjectVersionsCommandOutput = await s3.send(new ListObjectVersionsCommand({ Bucket, ...markers }));
    yield page;
    const { IsTruncated, NextKeyMarker, NextVersionIdMarker } = page;
    markers = IsTruncated
      ? {
          ...(NextKeyMarker && { KeyMarker: NextKeyMarker }),
          ...(NextVersionIdMarker && { VersionIdMarker: NextVersionIdMarker }),
        }
      : undefined;
  }
}

function openClient(): S3Client {
  const { endpoint, region, accessKeyId, secretAccessKey } = readConfig().storage;
  const credentials = { accessKeyId: accessKeyId.reveal(), secretAccessKey: secretAccessKey.reveal() };
  atEndOfFile(closeClient);
  return new S3Client({ endpoint, region, forcePathStyle: true, credentials });
}
