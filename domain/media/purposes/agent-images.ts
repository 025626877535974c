/** Checks that a question may use the images that a student shows to an agent. */
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { mediaColumns, type StoredMedia } from '../media.ts';
import { RefusalToPerson } from '../../language/refusal.ts';

/**
 * Reads the images that a question names, and marks the images as used, so that maintenance does not erase them as unused. The caller holds
 * the student's lock. So only the erasure of unused images can remove such an image during this transaction. That erasure either commits
 * before this function reads the image, or sees that the image is used.
 * @returns the images in the order of the question
 * @throws DomainError invalid_image: an image is unknown, not ready or removed, has a different purpose or owner, or is named twice
 */
export async function requireOwnImages(
  tx: Transaction,
  { clubId, studentId, imageIds }: { clubId: Id; studentId: Id; imageIds: readonly Id[] },
): Promise<StoredMedia[]> {
  if (imageIds.length === 0) return [];
  const ids = imageIds.map((id) => id.toLowerCase());
  if (new Set(ids).size < ids.length) throw new DomainError('invalid_image', 'image_ids names an image twice.');
  const usable = sql`media.club_id = ${clubId} AND media.owner_id = ${studentId} AND media.purpose = 'agent_image'
    AND media.status = 'ready' AND media.removed_at IS NULL`;
  await tx.run(sql`
    UPDATE media SET erases_at = NULL WHERE id = ANY (${ids}::uuid[]) AND ${usable} AND erases_at IS NOT NULL`);
  const rows = await tx.rows<StoredMedia>(sql`
    SELECT ${mediaColumns} FROM unnest(${ids}::uuid[]) WITH ORDINALITY AS requested (id, position) JOIN media USING (id)
     WHERE ${usable} ORDER BY requested.position`);
  if (rows.length < ids.length)
    throw new RefusalToPerson('invalid_image', 'refusal.image_not_ready', {
      technical: 'image_ids names an image that is not yours or not ready.',
    });
  return rows;
}
