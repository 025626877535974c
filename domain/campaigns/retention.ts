/**
 * Removes the recipients of ended campaigns in small batches after the retention time. The statistics of a campaign are never deleted
 * (CAMP-17).
 */
import { Campaign } from '../../entities/campaigns/campaign.ts';
import type { Database, Transaction } from '../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../platform/infra/postgres/sql.ts';
import { readStatistics } from './recipients.ts';

/** The time for which a recipient's row is stored after the end of its campaign. */
const rowMs = 730 * 86_400_000;
/** A batch takes some tens of milliseconds, so no transaction waits long for a row. */
const batch = 1_000;

/** Removes a batch of expired rows of one campaign. @returns the number of rows, and whether there may be more to do now */
export async function retainRecipients(
  db: Database,
  now: Date,
): Promise<{ rows: { recipients: number }; more: boolean }> {
  const endedBy = new Date(now.getTime() - rowMs);
  const removal = await db.transaction((tx) => removeRows(tx, endedBy, now));
  return { rows: { recipients: removal ?? 0 }, more: removal !== undefined };
}

/** @returns undefined if no campaign has expired rows */
async function removeRows(tx: Transaction, endedBy: Date, now: Date): Promise<number | undefined> {
  const campaign = await tx.one<Pick<Campaign, 'id' | 'clubId' | 'finalStatistics'>>(
    sql`SELECT ${columns(Campaign, ['id', 'clubId', 'finalStatistics'])} FROM campaigns
      WHERE ended_at <= ${endedBy} AND rows_removed_at IS NULL AND status IN ('sent', 'canceled')
      ORDER BY ended_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED`,
  );
  if (!campaign) return undefined;
  const { id, clubId, finalStatistics } = campaign;
  // Deleting rows changes the tallies, so the statistics are saved before the first deletion, in this transaction.
  if (finalStatistics === null)
    await tx.manager.update(Campaign, id, { finalStatistics: await readStatistics(tx, clubId, id) });
  const removedRows = await tx.run(
    sql`DELETE FROM mails WHERE id IN (SELECT id FROM mails WHERE campaign_id = ${id} ORDER BY seq LIMIT ${batch} FOR UPDATE)`,
  );
  if (removedRows < batch) await tx.manager.update(Campaign, id, { rowsRemovedAt: now });
  return removedRows;
}
