/** Compares the stored storage sums of a club with the sums over the rows of its files. */
import type { Id } from '../../../platform/core/ids.ts';
import { testDatabase } from '../stack/database.ts';

/** One text for each kind of file: `kind bytes files held`, for example `video 100 2 0`. Kinds with only zeros are left out. */
type Sums = string[];

const texts = `SELECT concat_ws(' ', kind, sum(bytes), sum(files), sum(held)) AS text`;
const notEmpty = `GROUP BY kind HAVING (sum(bytes), sum(files), sum(held)) <> (0, 0, 0) ORDER BY kind`;

/** `counted` has the stored sums, including the changes that are not merged yet. `there` has the sums of the rows of `media`. */
export async function storageCounts(clubId: Id): Promise<{ counted: Sums; there: Sums }> {
  const source = await testDatabase();
  const sums = async (from: string) =>
    (await source.query<{ text: string }[]>(`${texts} FROM (${from}) AS parts ${notEmpty}`, [clubId])).map(
      ({ text }) => text,
    );
  const counted = await sums(
    `SELECT kind, bytes, files, held FROM club_storage WHERE club_id = $1
     UNION ALL SELECT kind, bytes, files, held FROM club_storage_changes WHERE club_id = $1`,
  );
  const there = await sums(
    `SELECT kind, size_bytes AS bytes, 1 AS files, 0 AS held FROM media
      WHERE club_id = $1 AND size_bytes IS NOT NULL AND object_key IS NOT NULL AND erased_at IS NULL
     UNION ALL SELECT kind, 0, 0, held_bytes FROM media
      WHERE club_id = $1 AND size_bytes IS NULL AND status IN ('uploading', 'processing') AND removed_at IS NULL AND held_bytes > 0
     UNION ALL SELECT kind, 0, 0, address_bytes FROM media
      WHERE club_id = $1 AND object_key IS NOT NULL AND address_bytes > 0
        AND CASE WHEN size_bytes IS NULL THEN status = 'failed' OR removed_at IS NOT NULL ELSE erased_at IS NOT NULL END`,
  );
  return { counted, there };
}
