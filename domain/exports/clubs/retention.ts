/** Deletes the rows of old exports (EXP-16). */
import type { Id } from '../../../platform/core/ids.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import { clubExportRules, exportPrefix } from './exports.policy.ts';

const exportsPerRound = 20;

/**
 * Deletes a batch of ended exports that were requested long ago. Their objects are erased already. This function erases them once more,
 * because a worker that lost its lease may have stored a piece after that.
 */
export async function retainExports(
  { db, storage }: { db: Queries; storage: Pick<ObjectStore, 'removeUnder'> },
  now: Date,
): Promise<{ rows: { clubExports: number }; more: boolean }> {
  const requestedBy = new Date(now.getTime() - clubExportRules.retentionMs);
  const rows = await db.rows<{ id: Id; clubId: Id }>(sql`
    SELECT id, club_id AS "clubId" FROM club_exports
     WHERE created_at <= ${requestedBy} AND looks_at IS NULL ORDER BY created_at LIMIT ${exportsPerRound}`);
  for (const row of rows) await storage.removeUnder(exportPrefix(row));
  const ids = rows.map(({ id }) => id);
  await db.run(sql`DELETE FROM club_exports WHERE id = ANY (${ids})`);
  return { rows: { clubExports: rows.length }, more: rows.length === exportsPerRound };
}
