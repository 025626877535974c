/** How long the body of a notice is kept. Its row, and what it led to, stay. */
import type { Transaction } from '../../platform/infra/postgres/database.ts';

export const noticeBodyMs = 90 * 86_400_000;

/** Takes the bodies of up to so many old notices. @returns of how many */
export async function purgeNoticeBodies(tx: Transaction, receivedBy: Date, batch: number): Promise<number> {
  const [, purged] = await tx.query<[unknown[], number]>(
    `UPDATE sales_notices SET body = NULL, proof = NULL, addresses = '{}' WHERE id IN (
       SELECT id FROM sales_notices WHERE received_at <= $1 AND body IS NOT NULL
        ORDER BY received_at LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED)`,
    [receivedBy, batch],
  );
  return purged;
}
