/** The media library of a club as its administrators see it: listed and read. */
import type { RecordOf } from '../../contract/contract.ts';
import { notFound } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import { windowOf, type Page, type PageRequest } from '../../platform/infra/postgres/lists/page.ts';
import { loadMedia, mediaColumns, presentMedia, type MediaPlatform, type StoredMedia } from './media.ts';

/** @throws DomainError not_found, also for a student's image */
export async function findMedia(
  { database, storage }: MediaPlatform,
  clubId: Id,
  mediaId: Id,
): Promise<RecordOf<'Media'>> {
  const stored = await loadMedia(database, { clubId }, mediaId);
  if (!stored) throw notFound('file');
  return presentMedia(stored, storage);
}

/** @returns a page of the club's files, newest first */
export async function listMedia(
  { database, storage }: MediaPlatform,
  clubId: Id,
  page: PageRequest,
): Promise<Page<RecordOf<'Media'>>> {
  const { limit, offset } = windowOf(page);
  const ofLibrary = `club_id = $1 AND purpose = 'library' AND removed_at IS NULL`;
  const [counted] = await database.source.query<{ total: number }[]>(
    `SELECT count(*)::int AS total FROM media WHERE ${ofLibrary}`,
    [clubId],
  );
  const rows = await database.source.query<StoredMedia[]>(
    `SELECT ${mediaColumns()} FROM media WHERE ${ofLibrary} ORDER BY created_at DESC, id DESC LIMIT ${limit} OFFSET ${offset}`,
    [clubId],
  );
  return { rows: await Promise.all(rows.map((row) => presentMedia(row, storage))), total: counted?.total ?? 0 };
}
