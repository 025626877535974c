/** Limits the mails that a club's campaigns and automations send in a day (CAMP-41). */
import type { PlanName } from '../../../entities/billing/values.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { bulkMailsOfDay, dayOf, type WarmUps } from './pace.policy.ts';

const dateOf = (now: Date) => now.toISOString().slice(0, 10);

interface Sending {
  /** See `bulkMailsOfDay`. */
  domainProvenAt: Date | null;
  warmUps: WarmUps;
}

/** @returns null if there is no limit */
export async function limitOfDay(
  db: Queries,
  clubId: Id,
  { domainProvenAt, warmUps }: Sending,
  now: Date,
): Promise<number | null> {
  const club = await db.one<{ plan: PlanName; createdAt: Date }>(sql`
    SELECT coalesce(plan.plan, club.opening_plan) AS plan, club.created_at AS "createdAt"
      FROM clubs club LEFT JOIN club_plans plan ON plan.club_id = club.id WHERE club.id = ${clubId}`);
  return club ? bulkMailsOfDay(club, domainProvenAt, warmUps, dayOf(now)) : 0;
}

/**
 * Reserves mails of the daily limit (UTC). If a worker dies before it returns unsent mails, they still count.
 * @returns the number of mails that may be sent, at most `mails`
 */
export async function takeMailsOfDay(
  db: Queries,
  clubId: Id,
  { mails, ...sending }: Sending & { mails: number },
  now: Date,
): Promise<number> {
  const most = await limitOfDay(db, clubId, sending, now);
  if (most === null) return mails;
  const day = sql`club_id = ${clubId} AND day = ${dateOf(now)}`;
  await db.run(sql`INSERT INTO club_bulk_days (club_id, day, mails) SELECT id, ${dateOf(now)}, 0 FROM clubs WHERE id = ${clubId}
    ON CONFLICT DO NOTHING`);
  const row = await db.one<{ granted: number }>(sql`
    WITH room AS (SELECT club_id, day, least(${mails}::int, greatest(0, ${most}::int - mails)) AS granted FROM club_bulk_days WHERE ${day} FOR UPDATE)
    UPDATE club_bulk_days counted SET mails = counted.mails + room.granted
      FROM room WHERE counted.club_id = room.club_id AND counted.day = room.day RETURNING room.granted`);
  return row?.granted ?? 0;
}

/** Returns reserved mails that were not sent, so that they no longer count for the day. */
export async function returnMailsOfDay(db: Queries, clubId: Id, mails: number, now: Date): Promise<void> {
  if (mails > 0)
    await db.run(
      sql`UPDATE club_bulk_days SET mails = greatest(0, mails - ${mails}) WHERE club_id = ${clubId} AND day = ${dateOf(now)}`,
    );
}
