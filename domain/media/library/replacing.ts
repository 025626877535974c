/**
 * Replaces the content of a file. Two files of the library exchange their contents. So all records show the new content, and the old
 * content is not lost (MED-18).
 */
import type { RecordOf } from '../../../contract/contract.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { raw, sql } from '../../../platform/infra/postgres/sql.ts';
import { syncSources } from '../../knowledge/sources.ts';
import { findMedia, type LibraryReader } from './library.ts';
import type { LibraryDeps } from '../media.ts';

/** The columns that are exchanged. All other columns describe the record, and do not change. */
const contentColumns = [
  'object_key',
  'provider',
  'file_name',
  'mime',
  'size_bytes',
  'address_bytes',
  'width',
  'height',
  'mail_picture',
  'duration_ms',
  'sha256',
  'crc32',
  'processed_at',
  'examined',
  'renditions_due_at',
  'upload_expires_at',
] as const;

const columnList = (prefix: string) => raw(contentColumns.map((column) => `${prefix}${column}`).join(', '));

/**
 * Exchanges the contents of two files in one transaction. Both files keep their ids, titles, uses and folders. The second file is archived
 * and gets the old content of the first file. A repeated call undoes the exchange.
 * @returns the first file
 * @throws DomainError not_found (if one of the two files does not exist), media_mismatch
 */
export async function replaceMedia(
  deps: LibraryDeps,
  reader: LibraryReader,
  mediaId: Id,
  input: RecordOf<'MediaReplacement'>,
  now: Date,
): Promise<RecordOf<'Media'>> {
  const { clubId } = reader;
  const withId = input.with.toLowerCase();
  if (withId === mediaId) throw mismatch('A file cannot exchange contents with itself.');
  await deps.db.transaction(async (tx) => {
    const pair = await tx.rows<{ id: Id; exchangeable: boolean; kind: string; visibility: string }>(sql`
      SELECT id, kind, visibility, status = 'ready' AND object_key IS NOT NULL AND expires_at IS NULL AND looks_at IS NULL AS exchangeable FROM media
       WHERE id IN (${mediaId}, ${withId}) AND club_id = ${clubId} AND purpose = 'library' AND removed_at IS NULL
       ORDER BY id FOR NO KEY UPDATE`);
    const [one, other] = pair;
    if (!one || !other) throw notFound('file');
    if (!one.exchangeable || !other.exchangeable)
      throw mismatch('Both files must be stored here, be ready, not be in processing, and not expire.');
    if (one.kind !== other.kind || one.visibility !== other.visibility)
      throw mismatch('Both files must have the same kind and the same visibility.');
    await tx.run(sql`
      UPDATE media SET (${columnList('')}) = (SELECT ${columnList('other.')}), updated_at = ${now},
             archived = media.archived OR media.id = ${withId}, fence = greatest(media.fence, other.fence)
        FROM media other
       WHERE (media.id, other.id) IN ((${mediaId}::uuid, ${withId}::uuid), (${withId}::uuid, ${mediaId}::uuid))`);
    await exchangeRenditions(tx, mediaId, withId);
    await syncSources(tx, clubId, { mediaIds: [mediaId, withId], contentChanged: true }, now);
  });
  return findMedia(deps, reader, mediaId);
}

/**
 * Exchanges the renditions of two files. Both files may have renditions of the same version, so all versions become negative during the
 * exchange. Both files also get the higher one of their two fencing tokens. Keys of renditions contain the fencing token, and no later
 * claim may write to an existing key (MED-22).
 */
async function exchangeRenditions(tx: Transaction, mediaId: Id, withId: Id): Promise<void> {
  await tx.run(sql`
    UPDATE media_renditions SET media_id = CASE media_id WHEN ${mediaId} THEN ${withId}::uuid ELSE ${mediaId}::uuid END, version = -version
     WHERE media_id IN (${mediaId}, ${withId})`);
  await tx.run(sql`UPDATE media_renditions SET version = -version WHERE media_id IN (${mediaId}, ${withId})`);
}

const mismatch = (message: string) => new DomainError('media_mismatch', message);
