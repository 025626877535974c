/** Covers. A cover is an image of the library. The cover is the only file that a record such as a course uses directly (MED-14). */
import { DomainError } from '../../../platform/core/errors.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { setUses, type UsingRecord } from './uses.ts';

/**
 * Sets or replaces the cover of a record. The caller holds the record's lock. @param mediaId the id of the image, or `none` to remove the
 * cover @throws DomainError not_found, media_archived, invalid_request (the file is not a ready image)
 */
export async function setCover(tx: Transaction, clubId: Id, place: UsingRecord, mediaId: string): Promise<void> {
  await setUses(tx, clubId, place, mediaId === 'none' ? [] : [mediaId]);
  if (mediaId === 'none') return;
  await requireCoverImage(tx, mediaId);
}

/**
 * @param mediaId a file of the club's library that the transaction has locked
 * @throws DomainError invalid_request (the file is not a ready image)
 */
export async function requireCoverImage(tx: Transaction, mediaId: Id): Promise<void> {
  const image = await tx.one(
    sql`SELECT 1 FROM media WHERE id = ${mediaId} AND kind = 'image' AND status = 'ready' AND external_id IS NULL`,
  );
  if (!image) throw new DomainError('invalid_request', 'cover_media_id must be a ready image of the library.');
}
