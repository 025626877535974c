/** The media library of a club as its administrators see it: listed and read. */
import type { Queries } from '../../platform/infra/postgres/database.ts';
import type { RecordOf } from '../../contract/contract.ts';
import { notFound } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import { windowOf, type Page, type PageRequest } from '../../platform/infra/postgres/lists/page.ts';
import type { ObjectStore } from '../../platform/infra/object-store.ts';
import { loadMedia, mediaColumns, presentMedia, type StoredMedia } from './media.ts';

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
  const { limit, offset } = windowOf(page);
  const ofLibrary = `club_id = $1 AND purpose = 'library' AND removed_at IS NULL`;
  const [counted] = await db.query<{ total: number }[]>(`SELECT count(*)::int AS total FROM media WHERE ${ofLibrary}`, [
    clubId,
  ]);
  const rows = await db.query<StoredMedia[]>(
    `SELECT ${mediaColumns()} FROM media WHERE ${ofLibrary} ORDER BY created_at DESC, id DESC LIMIT ${limit} OFFSET ${offset}`,
    [clubId],
  );
  return { rows: await Promise.all(rows.map((row) => presentMedia(row, storage))), total: counted?.total ?? 0 };
}
