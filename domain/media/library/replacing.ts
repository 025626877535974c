/** Replacing a file: two files of the library exchange their contents, so one is new everywhere, and nothing is lost (MED-18). */
import type { RecordOf } from '../../../contract/contract.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { raw, sql } from '../../../platform/infra/postgres/sql.ts';
import { syncSources } from '../../knowledge/sources.ts';
import { findMedia, type LibraryReader } from './library.ts';
import type { LibraryDeps } from '../media.ts';

/** What belongs to the content; the rest belongs to the record, and stays. */
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
 * Exchanges the contents of two files in one transaction. Ids, titles, uses and folders stay. The second is archived and holds
 * the content that the first had: to do it again undoes it.
 * @returns the first file
 * @throws DomainError not_found (either), media_mismatch
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
  if (withId === mediaId) throw mismatch('A file does not exchange contents with itself.');
  await deps.db.transaction(async (tx) => {
    const pair = await tx.rows<{ id: Id; exchangeable: boolean; kind: string; visibility: string }>(sql`
      SELECT id, kind, visibility, status = 'ready' AND object_key IS NOT NULL AND expires_at IS NULL AND looks_at IS NULL AS exchangeable FROM media
       WHERE id IN (${mediaId}, ${withId}) AND club_id = ${clubId} AND purpose = 'library' AND removed_at IS NULL
       ORDER BY id FOR NO KEY UPDATE`);
    const [one, other] = pair;
    if (!one || !other) throw notFound('file');
    if (!one.exchangeable || !other.exchangeable)
      throw mismatch('Both must be files on our side that are ready, are not being processed, and do not expire.');
    if (one.kind !== other.kind || one.visibility !== other.visibility)
      throw mismatch('Both must be of one kind and one visibility.');
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
 * What was made of a content goes with it: first to a version that nobody has, for both may have the same. The fence of both becomes the
 * higher one: keys of renditions have it, and no claim may write to a key that exists (MED-22).
 */
async function exchangeRenditions(tx: Transaction, mediaId: Id, withId: Id): Promise<void> {
  await tx.run(sql`
    UPDATE media_renditions SET media_id = CASE media_id WHEN ${mediaId} THEN ${withId}::uuid ELSE ${mediaId}::uuid END, version = -version
     WHERE media_id IN (${mediaId}, ${withId})`);
  await tx.run(sql`UPDATE media_renditions SET version = -version WHERE media_id IN (${mediaId}, ${withId})`);
}

const mismatch = (message: string) => new DomainError('media_mismatch', message);
