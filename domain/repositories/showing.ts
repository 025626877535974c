/**
 * Shows repositories as records, with signed URLs of their files. Administrators see every file; students see only files that are ready
 * (REPO-4).
 */
import { setImmediate as othersTurn } from 'node:timers/promises';
import { Repository } from '../../entities/repositories/repository.ts';
import type { RecordOf } from '../../contract/contract.ts';
import { notFound } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { ObjectStore } from '../../platform/infra/store/object-store.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { newestFirst } from '../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../platform/infra/postgres/lists/page.ts';
import { columns, sql, type RowOf, type Sql } from '../../platform/infra/postgres/sql.ts';
import { mediaColumns, presentMedia, type StoredMedia } from '../media/media.ts';

export interface Showing {
  db: Queries;
  storage: ObjectStore;
}

/** The URLs that are signed without a pause, in some milliseconds. Then other requests can run (REPO-4). */
const filesPerSlice = 50;

export type Viewer = 'administrator' | 'student';

/** A condition on `media`. It is true if the viewer may see the file. */
export const seenBy = (viewer: Viewer): Sql =>
  viewer === 'student' ? sql`media.removed_at IS NULL AND media.status = 'ready'` : sql`media.removed_at IS NULL`;

const repositoryColumns = columns(
  Repository,
  ['id', 'publicId', 'title', 'description', 'instructorName', 'coverMediaId', 'status', 'createdAt', 'publishedAt'],
  'repository',
).and<{
  fileCount: number;
  /** Postgres returns a numeric as text. */
  totalBytes: string;
}>(sql`counted.files AS "fileCount", counted.bytes AS "totalBytes"`);
type RepositoryRow = RowOf<typeof repositoryColumns>;

/** A reference to content on another site counts as a file of 0 bytes. */
const repositoriesWithCounts = (viewer: Viewer) => sql`FROM repositories repository CROSS JOIN LATERAL (
  SELECT count(*)::int AS files, coalesce(sum(media.size_bytes), 0) AS bytes
    FROM repository_items item JOIN media ON media.id = item.media_id
   WHERE item.repository_id = repository.id AND ${seenBy(viewer)}) counted`;

/** @param chosen a condition on `repositories repository` @returns a page of the repositories, newest first */
export async function listShown(
  showing: Showing,
  page: PageRequest,
  chosen: Sql,
  viewer: Viewer,
): Promise<Page<RecordOf<'RepositorySummary'>>> {
  const { rows, total, next } = await listPage(showing.db, page, {
    columns: repositoryColumns,
    from: sql`${repositoriesWithCounts(viewer)} WHERE ${chosen}`,
    counted: sql`FROM repositories repository WHERE ${chosen}`,
    orderBy: newestFirst('repository'),
    changedAt: 'repository.changed_at',
  });
  const covers = await coversOf(showing, rows, viewer);
  return { rows: rows.map((row) => present(row, covers)), total, next };
}

/** @param chosen a condition on `repositories repository` that selects one repository @throws DomainError not_found */
export async function showOne(showing: Showing, chosen: Sql, viewer: Viewer): Promise<RecordOf<'Repository'>> {
  const row = await showing.db.one<RepositoryRow>(
    sql`SELECT ${repositoryColumns} ${repositoriesWithCounts(viewer)} WHERE ${chosen}`,
  );
  if (!row) throw notFound('repository');
  const files = await showing.db.rows<StoredMedia & { addedAt: Date }>(sql`
    SELECT ${mediaColumns}, item.added_at AS "addedAt" FROM repository_items item JOIN media ON media.id = item.media_id
     WHERE item.repository_id = ${row.id} AND ${seenBy(viewer)} ORDER BY item.position`);
  const items: RecordOf<'Repository'>['items'] = [];
  for (let at = 0; at < files.length; at += filesPerSlice) {
    if (at > 0) await othersTurn();
    const presentedFiles = files.slice(at, at + filesPerSlice).map(async (file) => ({
      media: await presentMedia(file, showing.storage),
      added_at: file.addedAt.toISOString(),
    }));
    items.push(...(await Promise.all(presentedFiles)));
  }
  // Computes the total from the files of the second statement. The files may have changed since the first statement read the total.
  const totalBytes = files.reduce((sum, { sizeBytes }) => sum + Number(sizeBytes ?? 0), 0);
  const covers = await coversOf(showing, [row], viewer);
  return { ...present(row, covers), file_count: files.length, total_bytes: totalBytes, items };
}

/** @returns the covers, by the id of the image */
async function coversOf(
  { db, storage }: Showing,
  rows: readonly RepositoryRow[],
  viewer: Viewer,
): Promise<Map<Id, RecordOf<'Media'>>> {
  const ids = rows.flatMap(({ coverMediaId }) => coverMediaId ?? []);
  if (ids.length === 0) return new Map();
  const files = await db.rows<StoredMedia>(
    sql`SELECT ${mediaColumns} FROM media WHERE media.id = ANY (${ids}::uuid[]) AND ${seenBy(viewer)}`,
  );
  return new Map(await Promise.all(files.map(async (file) => [file.id, await presentMedia(file, storage)] as const)));
}

function present(row: RepositoryRow, covers: ReadonlyMap<Id, RecordOf<'Media'>>): RecordOf<'RepositorySummary'> {
  const cover = row.coverMediaId === null ? undefined : covers.get(row.coverMediaId);
  return {
    id: row.id,
    public_id: row.publicId,
    title: row.title,
    status: row.status,
    file_count: row.fileCount,
    total_bytes: Number(row.totalBytes),
    created_at: row.createdAt.toISOString(),
    ...(row.description !== '' && { description: row.description }),
    ...(row.instructorName !== '' && { instructor_name: row.instructorName }),
    ...(cover && { cover }),
    ...(row.publishedAt !== null && { published_at: row.publishedAt.toISOString() }),
  };
}
