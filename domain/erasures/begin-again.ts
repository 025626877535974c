/** Begins the erasure of a club that a restore of Postgres brought back (ERS-25). */
import { wake } from '../../platform/engine/wakes.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import type { Database } from '../../platform/infra/postgres/database.ts';

/**
 * Begins the erasure immediately, because the club was erased before. Nothing changes if the erasure has begun already. The run
 * `club-erasure/<id of the club>` follows the row. A step that waits for the planned beginning loses its lease, so it records no later time.
 * @returns whether this call began the erasure
 */
export async function beginClubErasureAgain(db: Database, clubId: Id, now: Date): Promise<boolean> {
  return db.transaction(async (tx) => {
    const club = await tx.one(sql`SELECT 1 FROM clubs WHERE id = ${clubId} FOR NO KEY UPDATE`);
    if (!club) return false;
    const beginning = await tx.one(sql`
      INSERT INTO erasures AS erasure (id, kind, subject_id, club_id, requested_at, erases_at, status, looks_at)
      VALUES (${newId()}, 'club', ${clubId}, ${clubId}, ${now}, ${now}, 'closing', ${now})
      ON CONFLICT (subject_id) DO UPDATE
        SET status = 'closing', erases_at = ${now}, looks_at = ${now}, lease_until = NULL, fence = erasure.fence + 1
       WHERE erasure.status = 'planned'
      RETURNING 1`);
    if (beginning) await wake(tx, 'clubErasure', [{ subjectId: clubId, clubId }], now);
    return beginning !== undefined;
  });
}
