/** How fast a club's bulk mail may go: a bucket a club, filled by its rate (CAMP-7). */
import type { Id } from '../../../platform/core/ids.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';

/** The bucket is full after so many seconds without a mail, and has room for one mail at least. */
const fullAfterSeconds = 10;

/**
 * Takes mails from the club's bucket: all who send for the club share it.
 * @param now a time of the database's clock is not taken: tests skip time
 * @returns how many may be sent now, up to `wanted`, and in how many milliseconds there will be one more
 */
export async function takeAllowance(
  db: Queries,
  clubId: Id,
  wanted: number,
  now: Date,
): Promise<{ granted: number; nextInMs: number }> {
  const row = await db.one<{ granted: number; left: number; rate: number }>(sql`
    WITH filled AS (
      SELECT club_id, mails_per_minute / 60.0 AS rate,
             least(greatest(1, mails_per_minute / 60.0 * ${fullAfterSeconds}::int),
                   allowance + greatest(0, extract(epoch FROM ${now}::timestamptz - allowance_at)) * mails_per_minute / 60.0) AS mails
        FROM mail_senders WHERE club_id = ${clubId} FOR UPDATE)
    UPDATE mail_senders sender
       SET allowance = filled.mails - least(${wanted}::int, floor(filled.mails)), allowance_at = greatest(${now}::timestamptz, sender.allowance_at)
      FROM filled WHERE sender.club_id = filled.club_id
    RETURNING least(${wanted}::int, floor(filled.mails))::int AS granted, sender.allowance AS left, filled.rate::float8 AS rate`);
  if (!row) return { granted: 0, nextInMs: 60_000 };
  return { granted: row.granted, nextInMs: Math.max(0, Math.ceil(((1 - row.left) / row.rate) * 1_000)) };
}

/** Puts back what was taken and not sent. */
export async function returnAllowance(db: Queries, clubId: Id, mails: number): Promise<void> {
  if (mails > 0) await db.run(sql`UPDATE mail_senders SET allowance = allowance + ${mails} WHERE club_id = ${clubId}`);
}
