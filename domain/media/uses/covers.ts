/** Covers: an image of the library, kept as the one file that a place itself uses (MED-14). */
import { DomainError } from '../../../platform/core/errors.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { setUses, type MediaPlace } from './uses.ts';

/**
 * Gives a place its cover, instead of the one that it has. The caller holds the place.
 * @param mediaId `none` takes the cover away
 * @throws DomainError not_found, media_archived, invalid_request (no image that is ready)
 */
export async function setCover(tx: Transaction, clubId: Id, place: MediaPlace, mediaId: string): Promise<void> {
  await setUses(tx, clubId, place, mediaId === 'none' ? [] : [mediaId]);
  if (mediaId === 'none') return;
  await requireCoverImage(tx, mediaId);
}

/** @param mediaId a file of the club's library, which the transaction holds @throws DomainError invalid_request (no image that is ready) */
export async function requireCoverImage(tx: Transaction, mediaId: Id): Promise<void> {
  const image = await tx.one(
    sql`SELECT 1 FROM media WHERE id = ${mediaId} AND kind = 'image' AND status = 'ready' AND external_id IS NULL`,
  );
  if (!image) throw new DomainError('invalid_request', 'cover_media_id must be an image of the library that is ready.');
}
