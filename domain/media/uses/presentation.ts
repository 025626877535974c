/** Presents the files that a record uses. The caller has checked that the reader may see the record. */
import type { MediaUseKind } from '../../../entities/media/values.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { mediaColumns, presentMedia, type StoredMedia } from '../media.ts';

/** @returns the files of each record, with signed addresses. The files have no particular order, and a record without files is absent */
export async function presentUsed(
  db: Queries,
  storage: ObjectStore,
  kind: MediaUseKind,
  placeIds: readonly Id[],
): Promise<Map<Id, RecordOf<'Media'>[]>> {
  const used = new Map<Id, RecordOf<'Media'>[]>();
  if (placeIds.length === 0) return used;
  const rows = await db.rows<StoredMedia & { placeId: Id }>(sql`
    SELECT ${mediaColumns}, use.place_id AS "placeId" FROM media_uses use JOIN media ON media.id = use.media_id
     WHERE use.kind = ${kind} AND use.place_id = ANY (${placeIds}::uuid[]) AND media.removed_at IS NULL`);
  for (const row of rows) used.set(row.placeId, [...(used.get(row.placeId) ?? []), await presentMedia(row, storage)]);
  return used;
}
