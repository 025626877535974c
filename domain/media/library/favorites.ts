/** Deletes the favorites of members who leave a club, and of erased accounts (ERS-41, ERS-44). */
import type { Id } from '../../../platform/core/ids.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';

export async function deleteFavoritesInClub(
  tx: Transaction,
  { clubId, administratorId }: { clubId: Id; administratorId: Id },
): Promise<void> {
  await tx.run(sql`
    DELETE FROM media_favorites favorite USING media
     WHERE favorite.administrator_id = ${administratorId} AND media.id = favorite.media_id AND media.club_id = ${clubId}`);
}

/** Deletes the favorites of a person in all clubs. */
export async function deleteFavorites(tx: Transaction, administratorId: Id): Promise<void> {
  await tx.run(sql`DELETE FROM media_favorites WHERE administrator_id = ${administratorId}`);
}
