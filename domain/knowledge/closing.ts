/** Stops the indexing of a club that is erased. */
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { CloseClub } from '../questions.ts';

const sourcesPerBatch = 1_000;

/**
 * Takes the sources of the club out of the queue. A worker that reads a source loses its claim, because the fencing token changes. Sources
 * that have left the index still remove their passages.
 */
export const closeKnowledge: CloseClub = async ({ db }, clubId) => {
  const stopped = await db.run(sql`UPDATE agent_sources
       SET looks_at = NULL, lease_until = NULL, ocr_due_at = NULL, fence = fence + 1
     WHERE id IN (SELECT id FROM agent_sources
                   WHERE club_id = ${clubId} AND removed_at IS NULL AND (looks_at IS NOT NULL OR ocr_due_at IS NOT NULL)
                   ORDER BY id LIMIT ${sourcesPerBatch} FOR NO KEY UPDATE)`);
  return { more: stopped === sourcesPerBatch };
};
