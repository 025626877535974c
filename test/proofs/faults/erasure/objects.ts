/** The objects of the clubs in both buckets: puts objects, versions and unfinished uploads there, and lists everything afterwards. */
import {
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  ListObjectVersionsCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
  type ListObjectVersionsCommandOutput,
} from '@aws-sdk/client-s3';
import type { Id } from '../../../../platform/core/ids.ts';
import { clientConfig, type ObjectStoreSettings } from '../../../../platform/infra/store/object-store.ts';

export interface Buckets {
  /** Puts objects of the club under every prefix, two versions of each, and one unfinished upload under each prefix. @returns the number of versions */
  fill(clubId: Id, objectsPerPrefix: number): Promise<number>;
  /** @returns a line for each version, each delete marker and each unfinished upload, by its bucket, its key and its version */
  list(): Promise<Map<string, string>>;
  close(): void;
}

const prefixes = ['media', 'public', 'certificates', 'student-imports', 'exports', 'mail'] as const;
const partBytes = 1_024;

/** Keeps old versions in both buckets, as an operator may configure them. */
export async function openBuckets(settings: ObjectStoreSettings): Promise<Buckets> {
  const client = new S3Client(clientConfig(settings));
  const { privateBucket, publicBucket } = settings;
  for (const Bucket of [privateBucket, publicBucket])
    await client.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration: { Status: 'Enabled' } }));

  return {
    async fill(clubId, objectsPerPrefix) {
      let count = 0;
      for (const prefix of prefixes) {
        const Bucket = prefix === 'public' || prefix === 'mail' ? publicBucket : privateBucket;
        for (let object = 0; object < objectsPerPrefix; object++) {
          const Key = `${prefix}/${clubId}/${object % 2 === 0 ? '' : `${clubId}/`}object-${object}`;
          for (const version of ['old', 'new']) {
            await client.send(new PutObjectCommand({ Bucket, Key, Body: `${version} version of ${Key}` }));
            count += 1;
          }
        }
        const Key = `${prefix}/${clubId}/unfinished`;
        const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket, Key }));
        await client.send(
          new UploadPartCommand({ Bucket, Key, UploadId, PartNumber: 1, Body: Buffer.alloc(partBytes) }),
        );
      }
      return count;
    },
    async list() {
      const lines = new Map<string, string>();
      for (const Bucket of [privateBucket, publicBucket]) {
        for (let markers: { KeyMarker?: string; VersionIdMarker?: string } | undefined = {}; markers;) {
          const page: ListObjectVersionsCommandOutput = await client.send(
            new ListObjectVersionsCommand({ Bucket, ...markers }),
          );
          for (const { Key = '', VersionId = '', ETag = '', Size = 0 } of page.Versions ?? [])
            lines.set(`${Bucket} ${Key} ${VersionId}`, `${ETag} ${Size}`);
          for (const { Key = '', VersionId = '' } of page.DeleteMarkers ?? [])
            lines.set(`${Bucket} ${Key} ${VersionId}`, 'delete marker');
          markers =
            page.IsTruncated && page.NextKeyMarker !== undefined
              ? {
                  KeyMarker: page.NextKeyMarker,
                  ...(page.NextVersionIdMarker && { VersionIdMarker: page.NextVersionIdMarker }),
                }
              : undefined;
        }
        const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket }));
        for (const { Key = '', UploadId = '' } of Uploads)
          lines.set(`${Bucket} ${Key} ${UploadId}`, 'unfinished upload');
      }
      return lines;
    },
    close: () => client.destroy(),
  };
}
