/** The truth: rows, the storage that is counted, and what the bucket holds. */
import { createHash } from 'node:crypto';
import { GetObjectCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import type { DataSource } from 'typeorm';
import { readStorageUsage } from '../../../domain/media/storage.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { ObjectStoreSettings } from '../../../platform/infra/object-store.ts';
import { Database } from '../../../platform/infra/postgres/database.ts';

/** A file whose completion was answered. */
export interface Sent {
  id: Id;
  clubId: Id;
  /** SHA-256 of its bytes, in hexadecimal. */
  digest: string;
  becomes: 'ready' | 'failed';
}

interface FileTally {
  byStatus: Record<string, number>;
  /** A line each. */
  lost: string[];
  miscounted: string[];
  ownerless: string[];
}

/** @returns how many files are still on their way, or due for erasure */
export async function unfinished(source: DataSource): Promise<number> {
  const [row] = await source.query<{ count: number }[]>(
    `SELECT count(*)::int AS count FROM media WHERE status = 'processing' OR looks_at IS NOT NULL OR (status = 'failed' AND erased_at IS NULL)`,
  );
  return row?.count ?? 0;
}

interface Row {
  id: Id;
  clubId: Id;
  status: string;
  error: string | null;
  key: string | null;
  sizeBytes: string;
  digest: string | null;
  renditions: string[];
}

export async function tallyFiles(
  source: DataSource,
  storage: ObjectStoreSettings,
  sent: readonly Sent[],
): Promise<FileTally> {
  const rows = await source.query<Row[]>(
    `SELECT id, club_id AS "clubId", status, error, object_key AS key, size_bytes AS "sizeBytes", encode(sha256, 'hex') AS digest,
            ARRAY(SELECT object_key FROM media_renditions made WHERE made.media_id = media.id) AS renditions
       FROM media WHERE status <> 'uploading'`,
  );
  const byId = new Map(rows.map((row) => [row.id, row]));
  const client = new S3Client({
    endpoint: storage.endpoint,
    region: storage.region,
    forcePathStyle: true,
    credentials: { accessKeyId: storage.accessKeyId.reveal(), secretAccessKey: storage.secretAccessKey.reveal() },
  });
  try {
    const objects = await objectsOf(client, storage.privateBucket);
    const ready = rows.filter(({ status }) => status === 'ready');
    const owned = new Set(ready.flatMap(({ key, renditions }) => [key, ...renditions]));
    const lost: string[] = [];
    for (const one of sent) {
      const reason = await lossOf(one, byId.get(one.id), (key) => digestOf(client, storage.privateBucket, key));
      if (reason !== undefined) lost.push(`lost: ${one.id}: ${reason}`);
    }
    for (const { id, renditions } of ready)
      for (const key of renditions) if (!objects.has(key)) lost.push(`lost: ${id}: its rendition ${key} is not there`);
    return {
      byStatus: countsOf(rows.map(({ status, error }) => (error === null ? status : `${status} (${error})`))),
      lost,
      miscounted: await miscounted(new Database(source, { notify() {} }), ready, objects),
      ownerless: [...objects.keys()].filter((key) => !owned.has(key)).map((key) => `without a row: ${key}`),
    };
  } finally {
    client.destroy();
  }
}

async function lossOf(
  { digest, becomes }: Sent,
  row: Row | undefined,
  stored: (key: string) => Promise<string>,
): Promise<string | undefined> {
  if (row === undefined) return 'it has no row';
  if (row.status !== becomes) return `it is ${row.status} (${row.error ?? 'no error'}) instead of ${becomes}`;
  if (becomes === 'failed') return undefined;
  if (row.digest !== digest) return 'its row has another checksum';
  return (await stored(row.key ?? '')) === digest ? undefined : 'the bucket has other bytes';
}

async function digestOf(client: S3Client, Bucket: string, Key: string): Promise<string> {
  const { Body } = await client.send(new GetObjectCommand({ Bucket, Key }));
  return createHash('sha256')
    .update((await Body?.transformToByteArray()) ?? '')
    .digest('hex');
}

/** Clubs whose storage is not the sum of the originals that exist. */
async function miscounted(
  db: Database,
  ready: readonly Row[],
  objects: ReadonlyMap<string, number>,
): Promise<string[]> {
  const lines: string[] = [];
  for (const clubId of new Set(ready.map((row) => row.clubId))) {
    const own = ready.filter((row) => row.clubId === clubId && objects.has(row.key ?? ''));
    const exists = { files: own.length, bytes: own.reduce((sum, { key }) => sum + (objects.get(key ?? '') ?? 0), 0) };
    const { files, bytes } = await readStorageUsage(db, clubId);
    if (files !== exists.files || bytes !== exists.bytes)
      lines.push(`counted: club ${clubId}: ${files} files, ${bytes} bytes; there are ${exists.files}, ${exists.bytes}`);
  }
  return lines;
}

/** @returns the size of each object of the bucket */
async function objectsOf(client: S3Client, Bucket: string): Promise<Map<string, number>> {
  const objects = new Map<string, number>();
  for (let after: string | undefined; ;) {
    const page = await client.send(new ListObjectsV2Command({ Bucket, StartAfter: after }));
    for (const { Key = '', Size = 0 } of page.Contents ?? []) objects.set(Key, Size);
    after = page.Contents?.at(-1)?.Key;
    if (!page.IsTruncated || after === undefined) return objects;
  }
}

function countsOf(values: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}
