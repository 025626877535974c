/** Ends the purchases of a club that is erased. */
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { CloseClub } from '../questions.ts';

const purchasesPerBatch = 1_000;

/** Gives up add-ons whose charge has no outcome yet, so that the club is not charged again. A charge for overage ends with its row. */
export const closeBilling: CloseClub = async ({ db }, clubId, now) => {
  const ended = await db.run(sql`UPDATE add_ons
       SET status = 'failed', payment_id = NULL, settled_at = ${now}, lease_until = NULL, fence = fence + 1
     WHERE id IN (SELECT id FROM add_ons WHERE club_id = ${clubId} AND status = 'pending'
                   ORDER BY id LIMIT ${purchasesPerBatch} FOR NO KEY UPDATE)`);
  return { more: ended === purchasesPerBatch };
};
