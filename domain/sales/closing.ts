/** Ends the processing of sales notices of a club that is erased. */
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { CloseClub } from '../questions.ts';

const noticesPerBatch = 1_000;

/** A worker that processes a notice loses its lease, because the fencing token changes. So no notice opens an account any more. */
export const closeSales: CloseClub = async ({ db }, clubId, now) => {
  const ended = await db.run(sql`UPDATE sales_notices
       SET status = 'ignored', processed_at = ${now}, lease_until = NULL, fence = fence + 1
     WHERE id IN (SELECT id FROM sales_notices WHERE club_id = ${clubId} AND status = 'pending'
                   ORDER BY id LIMIT ${noticesPerBatch} FOR NO KEY UPDATE)`);
  return { more: ended === noticesPerBatch };
};
