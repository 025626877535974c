/** The truth: rows, the storage that is counted, and what the buckets hold. */
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
import type { Told } from './errands.ts';

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

/** What both buckets hold. */
interface Contents {
  /** The size of each object. */
  objects: ReadonlyMap<string, number>;
  /** The keys of uploads that have begun and not ended. */
  uploads: readonly string[];
  digestOf(key: string): Promise<string>;
}

/**
 * Erases what was written after its file was gone, as if all addresses had ended minutes ago. Then erases what files have left, and
 * reservations that nobody completed, as if a day had passed: afterwards everything that is there belongs to a file that stands.
 */
export async function tallyFiles(
  source: DataSource,
  settings: ObjectStoreSettings,
  told: readonly Told[],
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
                 FROM media_renditions made WHERE made.media_id = media.id) AS renditions
         FROM media`,
    );
    const contents = await contentsOf(client, settings);
    const standing = rows.filter(({ status, isRemoved }) => status === 'ready' && !isRemoved);
    return {
      byStatus: countsOf(rows.map(statusOf)),
      lost: await lostOf(told, rows, contents),
      miscounted: await miscounted(source, db, rows, contents),
      ownerless: [...late, ...ownerless(standing, contents)],
    };
  } finally {
    client.destroy();
    storage.close();
  }
}

/**
 * @param count.told of so many files the last call was answered @param count.expected so many there should be
 * @returns what the run says: what is wrong, a line each, and the sum of it
 */
export function verdictOf(
  { told, expected }: { told: number; expected: number },
  tally: FileTally,
): { lines: string[]; isFine: boolean } {
  const counts = Object.entries(tally.byStatus).map(([status, count]) => `${status} ${count}`);
  const wrong = [...tally.lost, ...tally.miscounted, ...tally.ownerless];
  const [lost, twice, without] = [tally.lost.length, tally.miscounted.length, tally.ownerless.length];
  const sum = `files ${told}, lost ${lost}, counted twice ${twice}, objects without a row ${without}`;
  return {
    lines: [`became ${counts.toSorted().join(', ')}`, ...wrong, sum],
    isFine: told === expected && wrong.length === 0,
  };
}

function statusOf({ status, error, isRemoved, visibility }: Row): string {
  if (isRemoved) return 'removed';
  return error === null ? `${status}${visibility === 'public' ? ' and public' : ''}` : `${status} (${error})`;
}

async function lostOf(told: readonly Told[], rows: readonly Row[], contents: Contents): Promise<string[]> {
  const byId = new Map(rows.map((row) => [row.id, row]));
  const lines: string[] = [];
  for (const one of told) {
    const reason = await lossOf(one, byId.get(one.id), contents);
    if (reason !== undefined) lines.push(`lost: ${one.id}: ${reason}`);
  }
  return lines;
}

/** The object that holds what the file is delivered as. */
const heldIn = ({ purpose, key, renditions }: Row): string =>
  (purpose === 'agent_image' ? renditions.find(({ role }) => role === 'preview')?.key : key) ?? '';

async function lossOf(told: Told, row: Row | undefined, { objects, digestOf }: Contents): Promise<string | undefined> {
  if (row === undefined) return 'it has no row';
  if (row.isRemoved !== (told.becomes === 'removed')) return row.isRemoved ? 'it is removed' : 'it is not removed';
  if (row.isRemoved) return undefined; // no object may be there: see `ownerless`
  if (row.status !== told.becomes) return `it is ${statusOf(row)} instead of ${told.becomes}`;
  if (told.becomes === 'failed') return undefined;
  if (row.visibility !== told.visibility) return `it is ${row.visibility} instead of ${told.visibility}`;
  if (row.key?.startsWith('public/') !== (row.visibility === 'public')) return 'it is in the other bucket';
  if (row.isArchived !== told.isArchived) return `it is ${row.isArchived ? '' : 'not '}archived`;
  if (told.digest !== undefined && row.digest !== told.digest) return 'its row has another checksum';
  if (row.renditions.length !== told.renditions)
    return `it has ${row.renditions.length} renditions instead of ${told.renditions}`;
  const missing = [row.key ?? '', ...row.renditions.map(({ key }) => key)].filter((key) => !objects.has(key));
  if (missing.length > 0) return `not there: ${missing.join(', ')}`;
  if (row.purpose === 'agent_image' && objects.get(row.key ?? '') !== 0) return 'its original is not emptied';
  return (await digestOf(heldIn(row))) === row.digest ? undefined : 'the bucket has other bytes';
}

/** Clubs whose storage is not the sum of what exists, or still holds room for what does not come. */
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
      sums.set(row.kind, { bytes: bytes + (objects.get(heldIn(row)) ?? 0), files: files + 1 });
    }
    const exists = [...sums].map(([kind, { bytes, files }]) => `${kind} ${files} of ${bytes} bytes`).toSorted();
    const { by_kind: kinds } = await readStorageUsage(db, clubId);
    const counted = kinds.map(({ kind, bytes, files }) => `${kind} ${files} of ${bytes} bytes`).toSorted();
    const said = [...counted, `held ${await heldBytes(source, clubId)}`].join(', ');
    const there = [...exists, 'held 0'].join(', '); // no reservation is open any more
    if (said !== there) lines.push(`counted: club ${clubId}: ${said}; there are ${there}`);
  }
  return lines;
}

async function heldBytes(source: DataSource, clubId: Id): Promise<number> {
  const [row] = await source.query<{ held: string }[]>(
    `SELECT (SELECT coalesce(sum(held), 0) FROM club_storage WHERE club_id = $1)
          + (SELECT coalesce(sum(held), 0) FROM club_storage_changes WHERE club_id = $1) AS held`,
    [clubId],
  );
  return Number(row?.held);
}

/** Objects of files that are gone, minutes after the ends of their addresses. */
async function lateOf(source: DataSource, { objects }: Contents): Promise<string[]> {
  const gone = await source.query<{ key: string }[]>(
    `SELECT object_key AS key FROM media WHERE (status = 'failed' OR removed_at IS NOT NULL) AND object_key IS NOT NULL`,
  );
  return gone
    .filter(({ key }) => objects.has(key))
    .map(({ key }) => `left minutes after its address has ended: ${key}`);
}

/** Objects and uploads that no file has that stands. */
function ownerless(standing: readonly Row[], { objects, uploads }: Contents): string[] {
  const owned = new Set(standing.flatMap(({ key, renditions }) => [key, ...renditions.map((made) => made.key)]));
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
