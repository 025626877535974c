/** Releases the slugs of erased clubs, and deletes rows of erasures after their retention (ERS-8, ERS-9). */
import type { Database } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { erasureRules } from './erasures.policy.ts';

const rowsPerBatch = 1_000;

/** Releases a batch of slugs, 90 days after their clubs were erased. */
export async function releaseSlugs(
  db: Database,
  now: Date,
): Promise<{ rows: { slugsReleased: number }; more: boolean }> {
  const before = new Date(now.getTime() - erasureRules.slugReservedMs);
  const released = await db.run(sql`UPDATE erasures SET slug = NULL WHERE id IN (
    SELECT id FROM erasures WHERE slug IS NOT NULL AND completed_at <= ${before} LIMIT ${rowsPerBatch} FOR UPDATE SKIP LOCKED)`);
  return { rows: { slugsReleased: released }, more: released === rowsPerBatch };
}

/** Deletes a batch of rows, 400 days after the erasures were completed. An erasure is never completed before it is requested. */
export async function removeOldErasures(
  db: Database,
  now: Date,
): Promise<{ rows: { erasuresRemoved: number }; more: boolean }> {
  const before = new Date(now.getTime() - erasureRules.retentionMs);
  const removed = await db.run(sql`DELETE FROM erasures WHERE id IN (
    SELECT id FROM erasures WHERE requested_at <= ${before} AND completed_at <= ${before}
     ORDER BY requested_at LIMIT ${rowsPerBatch} FOR UPDATE SKIP LOCKED)`);
  return { rows: { erasuresRemoved: removed }, more: removed === rowsPerBatch };
}
