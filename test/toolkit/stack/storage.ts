/** The S3 server of the test run: the object store over its private bucket, and a plain client that looks into the bucket itself. */
import { ListMultipartUploadsCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import { readConfig } from '../../../config.ts';
import { createObjectStore, type ObjectStore } from '../../../domain/core/object-store.ts';
import { testStack } from './stack.ts';

let store: ObjectStore | undefined;
let client: S3Client | undefined;

/** @returns the product's object store, opened at first use */
export async function testObjectStore(): Promise<ObjectStore> {
  await testStack();
  store ??= createObjectStore(readConfig().storage);
  return store;
}

/** The private bucket as S3 shows it, without the product's code in between. */
interface TestBucket {
  /** The keys of the stored objects that begin with `prefix`. */
  objects(prefix: string): Promise<string[]>;
  /** The keys of the multipart uploads that have begun and have not ended. */
  openUploads(prefix: string): Promise<string[]>;
}

export async function testBucket(): Promise<TestBucket> {
  await testStack();
  const { endpoint, region, accessKeyId, secretAccessKey, privateBucket: Bucket } = readConfig().storage;
  const credentials = { accessKeyId: accessKeyId.reveal(), secretAccessKey: secretAccessKey.reveal() };
  const s3 = (client ??= new S3Client({ endpoint, region, forcePathStyle: true, credentials }));
  return {
    async objects(prefix) {
      const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket, Prefix: prefix }));
      return Contents.map(({ Key = '' }) => Key);
    },
    async openUploads(prefix) {
      const { Uploads = [] } = await s3.send(new ListMultipartUploadsCommand({ Bucket, Prefix: prefix }));
      return Uploads.map(({ Key = '' }) => Key);
    },
  };
}

/** Closes both clients; the next use opens them again. */
export function closeStorage(): void {
  store?.close();
  client?.destroy();
  [store, client] = [undefined, undefined];
}

// Open sockets would keep the process alive after the last test.
after('close the storage', closeStorage);
