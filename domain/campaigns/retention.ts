/** How long recipients are kept, and their removal in small batches; what they came to stays for good (CAMP-17). */
import { Campaign } from '../../entities/campaigns/campaign.ts';
import type { Database, Transaction } from '../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../platform/infra/postgres/sql.ts';
import { readStatistics } from './recipients.ts';

/** A recipient's row, from the end of its campaign. */
const rowMs = 730 * 86_400_000;
/** Rows a batch: some tens of milliseconds, so that nobody waits long for one of them. */
const batch = 1_000;

/** Removes a batch of rows of one campaign whose time is over. @returns how many, and whether there may be more to do at once */
export async function retainRecipients(
  db: Database,
  now: Date,
): Promise<{ rows: { recipients: number }; more: boolean }> {
  const endedBy = new Date(now.getTime() - rowMs);
  const removed = await db.transaction((tx) => removeRows(tx, endedBy, now));
  return { rows: { recipients: removed ?? 0 }, more: removed !== undefined };
}

/** @returns undefined where no campaign has rows whose time is over */
async function removeRows(tx: Transaction, endedBy: Date, now: Date): Promise<number | undefined> {
  const campaign = await tx.one<Pick<Campaign, 'id' | 'clubId' | 'finalStatistics'>>(
    sql`SELECT ${columns(Campaign, ['id', 'clubId', 'finalStatistics'])} FROM campaigns
      WHERE ended_at <= ${endedBy} AND rows_removed_at IS NULL AND status IN ('sent', 'canceled')
      ORDER BY ended_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED`,
  );
  if (!campaign) return undefined;
  const { id, clubId, finalStatistics } = campaign;
  // Before the first row goes, and in its transaction: the tallies of statuses go with the rows.
  if (finalStatistics === null)
    await tx.manager.update(Campaign, id, { finalStatistics: await readStatistics(tx, clubId, id) });
  const removed = await tx.run(
    sql`DELETE FROM mails WHERE id IN (SELECT id FROM mails WHERE campaign_id = ${id} ORDER BY seq LIMIT ${batch} FOR UPDATE)`,
  );
  if (removed < batch) await tx.manager.update(Campaign, id, { rowsRemovedAt: now });
  return removed;
}
