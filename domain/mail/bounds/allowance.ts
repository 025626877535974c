/** Limits the rate of a club's bulk mail by a token bucket for each club (CAMP-7). */
import type { Id } from '../../../platform/core/ids.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';

/**
 * The number of seconds in which an empty bucket becomes full, if no mail is taken from it. Every bucket has room for at least one mail.
 */
const fullAfterSeconds = 10;

/**
 * Reserves mails in the club's bucket, which all campaigns and automations of the club share.
 * @param now the time of the process. The function does not use the database's clock, because tests move only the clock of the process
 * @returns the number of mails that may be sent now (at most `mails`), and the milliseconds until the next mail may be sent
 */
export async function takeAllowance(
  db: Queries,
  clubId: Id,
  mails: number,
  now: Date,
): Promise<{ granted: number; nextInMs: number }> {
  const row = await db.one<{ granted: number; remaining: number; rate: number }>(sql`
    WITH filled AS (
      SELECT club_id, mails_per_minute / 60.0 AS rate,
             least(greatest(1, mails_per_minute / 60.0 * ${fullAfterSeconds}::int),
                   allowance + greatest(0, extract(epoch FROM ${now}::timestamptz - allowance_at)) * mails_per_minute / 60.0) AS mails
        FROM mail_senders WHERE club_id = ${clubId} FOR UPDATE)
    UPDATE mail_senders sender
       SET allowance = filled.mails - least(${mails}::int, floor(filled.mails)), allowance_at = greatest(${now}::timestamptz, sender.allowance_at)
      FROM filled WHERE sender.club_id = filled.club_id
    RETURNING least(${mails}::int, floor(filled.mails))::int AS granted, sender.allowance AS remaining, filled.rate::float8 AS rate`);
  if (!row) return { granted: 0, nextInMs: 60_000 };
  return { granted: row.granted, nextInMs: Math.max(0, Math.ceil(((1 - row.remaining) / row.rate) * 1_000)) };
}

/** Puts the mails that were reserved but not sent back into the bucket. */
export async function returnAllowance(db: Queries, clubId: Id, mails: number): Promise<void> {
  if (mails > 0) await db.run(sql`UPDATE mail_senders SET allowance = allowance + ${mails} WHERE club_id = ${clubId}`);
}
