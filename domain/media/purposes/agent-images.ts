/** Pictures that students show agents: which of them a question may use. */
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { mediaColumns, type StoredMedia } from '../media.ts';
import { RefusalToPerson } from '../../language/refusal.ts';

/**
 * The images that a question names, which are not erased as unused any more. The student is held by the caller: nobody else
 * removes images of theirs, but what erases unused ones; it finds here that one is used, or was first.
 * @returns them in the order in which they are named
 * @throws DomainError invalid_image: one is unknown, not ready, removed, a file of the library, somebody else's, or named twice
 */
export async function requireOwnImages(
  tx: Transaction,
  { clubId, studentId, imageIds }: { clubId: Id; studentId: Id; imageIds: readonly Id[] },
): Promise<StoredMedia[]> {
  if (imageIds.length === 0) return [];
  const asked = imageIds.map((id) => id.toLowerCase());
  if (new Set(asked).size < asked.length) throw new DomainError('invalid_image', 'image_ids names an image twice.');
  const usable = sql`media.club_id = ${clubId} AND media.owner_id = ${studentId} AND media.purpose = 'agent_image'
    AND media.status = 'ready' AND media.removed_at IS NULL`;
  await tx.run(sql`
    UPDATE media SET erases_at = NULL WHERE id = ANY (${asked}::uuid[]) AND ${usable} AND erases_at IS NOT NULL`);
  const rows = await tx.rows<StoredMedia>(sql`
    SELECT ${mediaColumns} FROM unnest(${asked}::uuid[]) WITH ORDINALITY AS asked (id, place) JOIN media USING (id)
     WHERE ${usable} ORDER BY asked.place`);
  if (rows.length < asked.length)
    throw new RefusalToPerson('invalid_image', 'refusal.image_not_ready', {
      technical: 'image_ids names an image that is not yours, or not ready.',
    });
  return rows;
}
