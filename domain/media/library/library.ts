/** Lists, searches, reads and edits the files of a club's library for its administrators (MED-11, MED-17). */
import { MediaFavorite } from '../../../entities/media/media-favorite.ts';
import { screenTypes, type ScreenType } from '../../../entities/media/values.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { hasVisible, tidyName } from '../../../platform/core/text/text.policy.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { countEach } from '../../../platform/infra/postgres/lists/counts.ts';
import { nameMatches } from '../../../platform/infra/postgres/lists/folded-names.ts';
import { newestFirst, orderBy } from '../../../platform/infra/postgres/lists/order.ts';
import { listPage, windowAfter, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import { pageOfFound, search } from '../../../platform/infra/postgres/lists/search.ts';
import { all, sql, type Sql } from '../../../platform/infra/postgres/sql.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import { syncSources } from '../../knowledge/sources.ts';
import { requireFolder } from './folders.ts';
import { mediaColumns, presentMedia, type LibraryDeps, type StoredMedia } from '../media.ts';
import { usageCount } from '../uses/uses.ts';

/** An administrator or a program that reads or edits a club's library. */
export interface LibraryReader {
  clubId: Id;
  /** Null for a program, which has no favorites. */
  administratorId: Id | null;
}

/** The dependencies of functions that read files for an administrator. */
export type LibraryReads = Pick<LibraryDeps, 'storage' | 'mediaUses'> & { db: Queries };

/** The value that a request sends instead of a folder's id for the top of the library. */
const top = 'top';

interface LibraryRow extends StoredMedia {
  favorite: boolean;
  usageCount: number;
}

/** The columns of `media`, and whether the file is a favorite of the administrator. */
const columnsFor = ({ mediaUses }: Pick<LibraryDeps, 'mediaUses'>, { administratorId }: LibraryReader) =>
  mediaColumns.and<Pick<LibraryRow, 'favorite' | 'usageCount'>>(
    sql`EXISTS (SELECT FROM media_favorites favorite WHERE favorite.media_id = media.id AND favorite.administrator_id = ${administratorId}) AS favorite,
        ${usageCount(mediaUses)} AS "usageCount"`,
  );

async function presentForReader(row: LibraryRow, storage: ObjectStore): Promise<RecordOf<'Media'>> {
  return { ...(await presentMedia(row, storage)), favorite: row.favorite, usage_count: row.usageCount };
}

/** @throws DomainError not_found, also for a student's file */
export async function findMedia(deps: LibraryReads, reader: LibraryReader, mediaId: Id): Promise<RecordOf<'Media'>> {
  const row = await deps.db.one<LibraryRow>(
    sql`SELECT ${columnsFor(deps, reader)} FROM media WHERE ${ofLibrary(reader.clubId)} AND media.id = ${mediaId}`,
  );
  if (!row) throw notFound('file');
  return presentForReader(row, deps.storage);
}

export interface LibraryFilter extends PageRequest {
  types?: readonly ScreenType[];
  /** The id of a folder, or `top` for files without a folder. */
  folder_id?: string;
  archived?: boolean;
  /** True: only the reader's favorites. False: only the others. */
  favorite?: boolean;
  /** A text to search in title and file name, without regard to case. */
  q?: string;
}

/** A condition on `media`: the file belongs to the library and is not removed. */
const ofLibrary = (clubId: Id) =>
  sql`media.club_id = ${clubId} AND media.purpose = 'library' AND media.removed_at IS NULL`;
const order = newestFirst('media');
const changedAt = 'media.changed_at';

/** @returns a page of the club's files, newest first. A search (`q`) finds only the newest 1,000 matches */
export async function listMedia(
  deps: LibraryReads,
  reader: LibraryReader,
  filter: LibraryFilter,
): Promise<Page<RecordOf<'Media'>>> {
  const q = filter.q?.trim() ?? '';
  const { rows, total, next } =
    q !== '' ? await searchLibrary(deps, reader, q, filter) : await listLibrary(deps, reader, filter);
  return { rows: await Promise.all(rows.map((row) => presentForReader(row, deps.storage))), total, next };
}

/** The SQL condition for the files that the list shows. It does not include the filter by screen type. */
function isListed(
  { clubId, administratorId }: LibraryReader,
  { folder_id: folder, archived = false, favorite }: LibraryFilter,
): Sql {
  const marked = sql`EXISTS (SELECT FROM media_favorites favorite WHERE favorite.media_id = media.id AND favorite.administrator_id = ${administratorId})`;
  return all([
    ofLibrary(clubId),
    sql`media.archived = ${archived}`,
    folder === undefined ? undefined : folder === top ? sql`media.folder_id IS NULL` : sql`media.folder_id = ${folder}`,
    favorite === undefined ? undefined : favorite ? marked : sql`NOT ${marked}`,
  ]);
}

async function listLibrary(
  deps: LibraryReads,
  reader: LibraryReader,
  filter: LibraryFilter,
): Promise<Page<LibraryRow>> {
  const { after, limit, offset } = windowAfter(filter, order);
  const types = [...new Set(filter.types ?? screenTypes)];
  // The query reads the newest files of each type from the index of types. So a rare type is found as fast as a frequent type.
  const heads = sql`FROM unnest(${types}::text[]) AS listed (type) CROSS JOIN LATERAL (
    SELECT * FROM media WHERE ${all([isListed(reader, filter), after])} AND media.type = listed.type ORDER BY ${orderBy(order)} LIMIT ${limit + offset}) AS media
    WHERE true`;
  const some = sql`FROM media WHERE ${isListed(reader, filter)} AND media.type = ANY (${types}::text[])`;
  return listPage(deps.db, filter, {
    columns: columnsFor(deps, reader),
    from: filter.cursor?.changedSince ? some : heads, // few files changed, so their index finds them
    counted: some,
    orderBy: order,
    changedAt,
    // A person has few favorites, so a query counts them. All other lists are counted by tallies.
    ...(filter.favorite === undefined && { total: () => countLibrary(deps.db, reader.clubId, types, filter) }),
  });
}

/**
 * The names of the two tallies that belong to no folder. The first tally counts the whole library, and the second tally counts the files
 * outside all folders.
 */
const talliedAs = {
  all: 'ffffffff-ffff-ffff-ffff-ffffffffffff',
  top: '00000000-0000-0000-0000-000000000000',
} as const;

/** Adds up the tallies of the screen types (docs/adr/0011-lists-of-a-million.md). */
async function countLibrary(
  db: Queries,
  clubId: Id,
  types: readonly ScreenType[],
  { folder_id: folder, archived = false }: LibraryFilter,
): Promise<number> {
  const subject = folder === undefined ? talliedAs.all : folder === top ? talliedAs.top : folder.toLowerCase();
  const count = await countEach(db, clubId, {
    lists: types.map((type) => `media_${type}` as const),
    subjectIds: [subject],
  });
  return types.reduce((sum, type) => sum + count({ list: `media_${type}`, subjectId: subject, marked: archived }), 0);
}

async function searchLibrary(
  deps: LibraryReads,
  reader: LibraryReader,
  q: string,
  filter: LibraryFilter,
): Promise<Page<LibraryRow>> {
  const types = filter.types;
  const ids = await search(deps.db, q, {
    from: 'media media',
    alias: 'media',
    orderedBy: 'created_at',
    conditions: all([isListed(reader, filter), types && sql`media.type = ANY (${types}::text[])`]),
    matching: sql`(${nameMatches('media.title', tidyName(q))} OR ${nameMatches('media.file_name', q.normalize('NFC').trim())})`,
  });
  return pageOfFound(deps.db, filter, ids, (read) => ({
    columns: columnsFor(deps, reader),
    from: sql`FROM media WHERE media.id = ANY (${read})`,
    orderBy: order,
    changedAt,
  }));
}

/**
 * Changes a file. An absent field does not change. Archiving removes the file from the agents' index, but records that use it still show
 * it.
 * @throws DomainError not_found (no such file or folder), invalid_request (the title has no letter, or a program sets a favorite)
 */
export async function updateMedia(
  deps: LibraryDeps,
  reader: LibraryReader,
  mediaId: Id,
  input: RecordOf<'MediaChange'>,
  now: Date,
): Promise<RecordOf<'Media'>> {
  const title = input.title === undefined ? null : tidyName(input.title);
  if (title !== null && !hasVisible(title)) throw new DomainError('invalid_request', 'title must have a letter.');
  await deps.db.transaction(async (tx) => {
    await lockMedia(tx, reader.clubId, mediaId);
    const { folder_id: folder, archived, favorite } = input;
    if (folder !== undefined && folder !== top) await requireFolder(tx, reader.clubId, folder);
    await tx.run(sql`
      UPDATE media SET title = coalesce(${title}, title), archived = coalesce(${archived ?? null}, archived), updated_at = ${now},
             folder_id = CASE WHEN ${folder === undefined} THEN folder_id ELSE ${folder === undefined || folder === top ? null : folder}::uuid END
       WHERE id = ${mediaId}`);
    if (favorite !== undefined) await mark(tx, reader, mediaId, favorite, now);
    await syncSources(tx, reader.clubId, { mediaIds: [mediaId] }, now);
  });
  return findMedia(deps, reader, mediaId);
}

async function mark(
  tx: Transaction,
  { administratorId }: LibraryReader,
  mediaId: Id,
  favorite: boolean,
  now: Date,
): Promise<void> {
  if (administratorId === null)
    throw new DomainError('invalid_request', 'favorite belongs to a person, so an API key cannot set it.');
  const marks = { administratorId, mediaId };
  if (!favorite) await tx.manager.delete(MediaFavorite, marks);
  else
    await tx.run(sql`INSERT INTO media_favorites (administrator_id, media_id, created_at)
      VALUES (${administratorId}, ${mediaId}, ${now}) ON CONFLICT DO NOTHING`);
}

/** @throws DomainError not_found */
async function lockMedia(tx: Transaction, clubId: Id, mediaId: Id): Promise<StoredMedia> {
  const file = await tx.one<StoredMedia>(
    sql`SELECT ${mediaColumns} FROM media WHERE ${ofLibrary(clubId)} AND media.id = ${mediaId} FOR NO KEY UPDATE`,
  );
  if (!file) throw notFound('file');
  return file;
}
