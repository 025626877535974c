/** Computes the current month of a club in the club's time zone. The AI budget, its add-ons and overages are counted per month. */
import { Club } from '../../entities/clubs/club.ts';
import type { Id } from '../../platform/core/ids.ts';
import { localMonthOf, type LocalMonth } from '../../platform/core/time/local-time.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { columns, sql, type Sql } from '../../platform/infra/postgres/sql.ts';

/** @returns the current month of the club @throws Error if there is no such club */
export async function readClubMonth(db: Queries, clubId: Id, now: Date): Promise<LocalMonth> {
  const club = await db.one<Pick<Club, 'timeZone'>>(
    sql`SELECT ${columns(Club, ['timeZone'])} FROM clubs WHERE id = ${clubId}`,
  );
  if (!club) throw new Error(`There is no club ${clubId}`);
  return localMonthOf(club.timeZone, now);
}

/** Whether the month contains the instant. */
export const isIn = ({ startsAt, endsAt }: LocalMonth, instant: Sql): Sql =>
  sql`(${instant} >= ${startsAt} AND ${instant} < ${endsAt})`;
