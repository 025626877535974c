/** Compares the rows, the counted storage, and the contents of the buckets. */
import { createHash } from 'node:crypto';
import { GetObjectCommand, ListMultipartUploadsCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import type { DataSource } from 'typeorm';
import { eraseDue } from '../../../../domain/media/erasure/erasure.ts';
import { eraseLeftovers } from '../../../../domain/media/erasure/leftovers.ts';
import { mediaRules } from '../../../../domain/media/media.policy.ts';
import { readStorageUsage } from '../../../../domain/media/storage/storage.ts';
import type { Id } from '../../../../platform/core/ids.ts';
import {
  clientConfig,
  createObjectStore,
  type ObjectStoreSettings,
} from '../../../../platform/infra/store/object-store.ts';
import { Database } from '../../../../platform/infra/postgres/database.ts';
import type { ExpectedFile } from './errands.ts';

interface FileTally {
  byStatus: Record<string, number>;
  lostFiles: string[];
  miscounted: string[];
  ownerless: string[];
}

/** @returns the number of files that are in processing, or due for erasure */
export async function unfinished(source: DataSource): Promise<number> {
  const [row] = await source.query<{ count: number }[]>(
    `SELECT (SELECT count(*)::int FROM media
              WHERE status = 'processing' OR looks_at IS NOT NULL OR (erases_at <= now() AND status <> 'uploading')
                 OR (erased_at IS NULL AND (status = 'failed' OR removed_at IS NOT NULL)))
          + (SELECT count(*)::int FROM media_moves) AS count`,
  );
  return row?.count ?? 0;
}

interface Row {
  id: Id;
  clubId: Id;
  purpose: string;
  kind: string;
  status: string;
  error: string | null;
  visibility: string;
  isArchived: boolean;
  isRemoved: boolean;
  key: string | null;
  sizeBytes: string | null;
  digest: string | null;
  renditions: { role: string; key: string }[];
}

interface Contents {
  objects: ReadonlyMap<string, number>;
  uploads: readonly string[];
  digestOf(key: string): Promise<string>;
}

/**
 * Erases all leftovers. The first step runs as if all upload URLs had expired minutes ago, and erases objects that were written after the
 * deletion of their file. The second step runs as if a day had passed, and erases other leftovers and abandoned reservations. Afterwards
 * every object must belong to an existing file.
 */
export async function tallyFiles(
  source: DataSource,
  settings: ObjectStoreSettings,
  expectedFiles: readonly ExpectedFile[],
): Promise<FileTally> {
  const db = new Database(source, { notify() {} });
  const storage = createObjectStore(settings);
  const client = new S3Client(clientConfig(settings));
  try {
    const { uploadMs, lateMs } = mediaRules;
    while ((await eraseDue({ db, storage }, new Date(Date.now() + uploadMs + lateMs))).more);
    const late = await lateOf(source, await contentsOf(client, settings));
    const aDayLater = new Date(Date.now() + 26 * 3_600_000);
    while ((await eraseLeftovers({ db, storage }, aDayLater)).more);
    while ((await eraseDue({ db, storage }, aDayLater)).more);
    const rows = await source.query<Row[]>(
      `SELECT id, club_id AS "clubId", purpose, kind, status, error, visibility, archived AS "isArchived",
              removed_at IS NOT NULL AS "isRemoved", object_key AS key, size_bytes AS "sizeBytes",
              encode(sha256, 'hex') AS digest,
              (SELECT coalesce(jsonb_agg(jsonb_build_object('role', role, 'key', object_key)), '[]')
                 FROM media_renditions rendition WHERE rendition.media_id = media.id) AS renditions
         FROM media`,
    );
    const contents = await contentsOf(client, settings);
    const standing = rows.filter(({ status, isRemoved }) => status === 'ready' && !isRemoved);
    return {
      byStatus: countsOf(rows.map(statusOf)),
      lostFiles: await lostOf(expectedFiles, rows, contents),
      miscounted: await miscounted(source, db, rows, contents),
      ownerless: [...late, ...ownerless(standing, contents)],
    };
  } finally {
    client.destroy();
    storage.close();
  }
}

/**
 * @param count.finished the number of files that the clients finished
 * @param count.expected the number of files that must exist
 */
export function verdictOf(
  { finished, expected }: { finished: number; expected: number },
  tally: FileTally,
): { lines: string[]; isFine: boolean } {
  const counts = Object.entries(tally.byStatus).map(([status, count]) => `${status} ${count}`);
  const wrong = [...tally.lostFiles, ...tally.miscounted, ...tally.ownerless];
  const [lostCount, miscountedCount, ownerlessCount] = [
    tally.lostFiles.length,
    tally.miscounted.length,
    tally.ownerless.length,
  ];
  const sum = `files ${finished}, lost ${lostCount}, counted twice ${miscountedCount}, objects without a row ${ownerlessCount}`;
  return {
    lines: [`became ${counts.toSorted().join(', ')}`, ...wrong, sum],
    isFine: finished === expected && wrong.length === 0,
  };
}

function statusOf({ status, error, isRemoved, visibility }: Row): string {
  if (isRemoved) return 'removed';
  return error === null ? `${status}${visibility === 'public' ? ' and public' : ''}` : `${status} (${error})`;
}

async function lostOf(
  expectedFiles: readonly ExpectedFile[],
  rows: readonly Row[],
  contents: Contents,
): Promise<string[]> {
  const byId = new Map(rows.map((row) => [row.id, row]));
  const lines: string[] = [];
  for (const one of expectedFiles) {
    const reason = await lossOf(one, byId.get(one.id), contents);
    if (reason !== undefined) lines.push(`lost: ${one.id}: ${reason}`);
  }
  return lines;
}

const downloadedKey = ({ purpose, key, renditions }: Row): string =>
  (purpose === 'agent_image' ? renditions.find(({ role }) => role === 'preview')?.key : key) ?? '';

async function lossOf(
  expected: ExpectedFile,
  row: Row | undefined,
  { objects, digestOf }: Contents,
): Promise<string | undefined> {
  if (row === undefined) return 'it has no row';
  if (row.isRemoved !== (expected.becomes === 'removed')) return row.isRemoved ? 'it is removed' : 'it is not removed';
  if (row.isRemoved) return undefined; // `ownerless` checks that no object remains
  if (row.status !== expected.becomes) return `it is ${statusOf(row)} instead of ${expected.becomes}`;
  if (expected.becomes === 'failed') return undefined;
  if (row.visibility !== expected.visibility) return `it is ${row.visibility} instead of ${expected.visibility}`;
  if (row.key?.startsWith('public/') !== (row.visibility === 'public')) return 'it is in the wrong bucket';
  if (row.isArchived !== expected.isArchived) return `it is ${row.isArchived ? '' : 'not '}archived`;
  if (expected.digest !== undefined && row.digest !== expected.digest) return 'its row has another checksum';
  if (row.renditions.length !== expected.renditions)
    return `it has ${row.renditions.length} renditions instead of ${expected.renditions}`;
  const missing = [row.key ?? '', ...row.renditions.map(({ key }) => key)].filter((key) => !objects.has(key));
  if (missing.length > 0) return `not there: ${missing.join(', ')}`;
  if (row.purpose === 'agent_image' && objects.get(row.key ?? '') !== 0) return 'its original is not emptied';
  return (await digestOf(downloadedKey(row))) === row.digest ? undefined : 'the bucket has other bytes';
}

/** Finds clubs with a stored total that differs from the sum of the files, or with storage that is still reserved. */
async function miscounted(
  source: DataSource,
  db: Database,
  rows: readonly Row[],
  { objects }: Contents,
): Promise<string[]> {
  const lines: string[] = [];
  for (const clubId of new Set(rows.map((row) => row.clubId))) {
    const own = rows.filter((row) => row.clubId === clubId && !row.isRemoved);
    const sums = new Map<string, { bytes: number; files: number }>();
    for (const row of own.filter(({ status }) => status === 'ready')) {
      const { bytes, files } = sums.get(row.kind) ?? { bytes: 0, files: 0 };
      sums.set(row.kind, { bytes: bytes + (objects.get(downloadedKey(row)) ?? 0), files: files + 1 });
    }
    const exists = [...sums].map(([kind, { bytes, files }]) => `${kind} ${files} of ${bytes} bytes`).toSorted();
    const { by_kind: kinds } = await readStorageUsage(db, clubId);
    const counted = kinds.map(({ kind, bytes, files }) => `${kind} ${files} of ${bytes} bytes`).toSorted();
    const recordedUsage = [...counted, `held ${await heldBytes(source, clubId)}`].join(', ');
    const existingUsage = [...exists, 'held 0'].join(', '); // no reservation is open any more
    if (recordedUsage !== existingUsage)
      lines.push(`counted: club ${clubId}: ${recordedUsage}; there are ${existingUsage}`);
  }
  return lines;
}

async function heldBytes(source: DataSource, clubId: Id): Promise<number> {
  const [row] = await source.query<{ bytes: string }[]>(
    `SELECT (SELECT coalesce(sum(held), 0) FROM club_storage WHERE club_id = $1)
          + (SELECT coalesce(sum(held), 0) FROM club_storage_changes WHERE club_id = $1) AS bytes`,
    [clubId],
  );
  return Number(row?.bytes);
}

/** Finds objects of deleted files minutes after their upload URLs expired. */
async function lateOf(source: DataSource, { objects }: Contents): Promise<string[]> {
  const deletedFiles = await source.query<{ key: string }[]>(
    `SELECT object_key AS key FROM media WHERE (status = 'failed' OR removed_at IS NOT NULL) AND object_key IS NOT NULL`,
  );
  return deletedFiles
    .filter(({ key }) => objects.has(key))
    .map(({ key }) => `left minutes after its address has ended: ${key}`);
}

function ownerless(standing: readonly Row[], { objects, uploads }: Contents): string[] {
  const owned = new Set(
    standing.flatMap(({ key, renditions }) => [key, ...renditions.map((rendition) => rendition.key)]),
  );
  return [
    ...[...objects.keys()].filter((key) => !owned.has(key)).map((key) => `without a row: ${key}`),
    ...uploads.map((key) => `without a row: an upload of ${key}`),
  ];
}

async function contentsOf(client: S3Client, settings: ObjectStoreSettings): Promise<Contents> {
  const objects = new Map<string, number>();
  const uploads: string[] = [];
  for (const Bucket of [settings.privateBucket, settings.publicBucket]) {
    for (let after: string | undefined; ;) {
      const page = await client.send(new ListObjectsV2Command({ Bucket, StartAfter: after }));
      for (const { Key = '', Size = 0 } of page.Contents ?? []) objects.set(Key, Size);
      after = page.Contents?.at(-1)?.Key;
      if (!page.IsTruncated || after === undefined) break;
    }
    const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket }));
    uploads.push(...Uploads.map(({ Key = '' }) => Key));
  }
  return {
    objects,
    uploads,
    async digestOf(Key) {
      const Bucket = Key.startsWith('public/') ? settings.publicBucket : settings.privateBucket;
      const { Body } = await client.send(new GetObjectCommand({ Bucket, Key }));
      return createHash('sha256')
        .update((await Body?.transformToByteArray()) ?? '')
        .digest('hex');
    },
  };
}

function countsOf(values: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}
