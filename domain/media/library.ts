/** The media library of a club as its administrators see it: listed and read. */
import type { Queries } from '../../platform/infra/postgres/database.ts';
import type { RecordOf } from '../../contract/contract.ts';
import { notFound } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import { listPage, type Page, type PageRequest } from '../../platform/infra/postgres/lists/page.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { ObjectStore } from '../../platform/infra/object-store.ts';
import { loadMedia, mediaColumns, presentMedia } from './media.ts';

/** @throws DomainError not_found, also for a student's image */
export async function findMedia(
  db: Queries,
  storage: ObjectStore,
  clubId: Id,
  mediaId: Id,
): Promise<RecordOf<'Media'>> {
  const stored = await loadMedia(db, { clubId }, mediaId);
  if (!stored) throw notFound('file');
  return presentMedia(stored, storage);
}

/** @returns a page of the club's files, newest first */
export async function listMedia(
  db: Queries,
  storage: ObjectStore,
  clubId: Id,
  page: PageRequest,
): Promise<Page<RecordOf<'Media'>>> {
  const { rows, total } = await listPage(db, page, {
    columns: mediaColumns,
    from: sql`FROM media WHERE club_id = ${clubId} AND purpose = 'library' AND removed_at IS NULL`,
    orderBy: sql`created_at DESC, id DESC`,
  });
  return { rows: await Promise.all(rows.map((row) => presentMedia(row, storage))), total };
}
