/** Removes old mail events in small batches (CAMP-17). */
import type { Database } from '../../platform/infra/postgres/database.ts';
import { raw, sql } from '../../platform/infra/postgres/sql.ts';
import { eventRetentionMs } from './retention.policy.ts';

const batch = 1_000;

/** @returns the number of removed rows, and whether another batch may be due immediately */
export async function retainMailEvents(
  db: Database,
  now: Date,
): Promise<{ rows: { mailClicks: number; softBounces: number }; more: boolean }> {
  const before = new Date(now.getTime() - eventRetentionMs);
  const remove = (table: string, key: string) =>
    db.run(sql`DELETE FROM ${raw(table)} WHERE (${raw(key)}) IN (
      SELECT ${raw(key)} FROM ${raw(table)} WHERE at <= ${before} ORDER BY at LIMIT ${batch} FOR UPDATE SKIP LOCKED)`);
  const mailClicks = await remove('mail_clicks', 'mail_id, link_id, machine');
  const softBounces = await remove('mail_soft_bounces', 'mail_id, at');
  return { rows: { mailClicks, softBounces }, more: mailClicks >= batch || softBounces >= batch };
}
