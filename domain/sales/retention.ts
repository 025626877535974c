/** Deletes the bodies of old notices. The rows of the notices and the recorded results stay. */
import type { Database, Transaction } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';

const noticeBodyMs = 90 * 86_400_000;
const noticesPerBatch = 1_000;

/** Purges one batch. @returns the number of notices whose body was deleted, and whether more bodies may be due now */
export async function retainNotices(db: Database, now: Date): Promise<{ rows: { notices: number }; more: boolean }> {
  const receivedBy = new Date(now.getTime() - noticeBodyMs);
  const notices = await db.transaction((tx) => purgeNoticeBodies(tx, receivedBy, noticesPerBatch));
  return { rows: { notices }, more: notices >= noticesPerBatch };
}

/** @returns their number */
async function purgeNoticeBodies(tx: Transaction, receivedBy: Date, batch: number): Promise<number> {
  const purged = await tx.run(sql`UPDATE sales_notices SET body = NULL, proof = NULL, addresses = '{}' WHERE id IN (
       SELECT id FROM sales_notices WHERE received_at <= ${receivedBy} AND body IS NOT NULL
        ORDER BY received_at LIMIT ${batch} FOR NO KEY UPDATE SKIP LOCKED)`);
  return purged;
}
