/** How many mails of campaigns and automations a club may still send today (CAMP-41). */
import type { PlanName } from '../../../entities/billing/values.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { bulkMailsOfDay, dayOf, type WarmUps } from './pace.policy.ts';

const dateOf = (now: Date) => now.toISOString().slice(0, 10);

interface Sending {
  /** As `bulkMailsOfDay`. */
  domainProvenAt: Date | null;
  warmUps: WarmUps;
}

/** @returns how many mails the club may send today; null for no bound */
export async function boundOfDay(
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
 * Takes places in the day (UTC). Those of a worker that dies with them are lost for the day.
 * @returns how many of the wanted it got
 */
export async function takePlacesOfDay(
  db: Queries,
  clubId: Id,
  { wanted, ...sending }: Sending & { wanted: number },
  now: Date,
): Promise<number> {
  const mails = await boundOfDay(db, clubId, sending, now);
  if (mails === null) return wanted;
  const day = sql`club_id = ${clubId} AND day = ${dateOf(now)}`;
  await db.run(sql`INSERT INTO club_bulk_days (club_id, day, mails) SELECT id, ${dateOf(now)}, 0 FROM clubs WHERE id = ${clubId}
    ON CONFLICT DO NOTHING`);
  const taken = await db.one<{ granted: number }>(sql`
    WITH held AS (SELECT club_id, day, least(${wanted}::int, greatest(0, ${mails}::int - mails)) AS granted FROM club_bulk_days WHERE ${day} FOR UPDATE)
    UPDATE club_bulk_days taken SET mails = taken.mails + held.granted
      FROM held WHERE taken.club_id = held.club_id AND taken.day = held.day RETURNING held.granted`);
  return taken?.granted ?? 0;
}

/** Puts back what was taken and not sent. */
export async function returnPlacesOfDay(db: Queries, clubId: Id, places: number, now: Date): Promise<void> {
  if (places > 0)
    await db.run(
      sql`UPDATE club_bulk_days SET mails = greatest(0, mails - ${places}) WHERE club_id = ${clubId} AND day = ${dateOf(now)}`,
    );
}
