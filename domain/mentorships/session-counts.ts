/** Counts the sessions of a club from daily tallies, so that the time does not grow with the number of sessions (ADR 11). */
import { storedSessionStatuses } from '../../entities/mentorships/values.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { all, sql, union, type Sql } from '../../platform/infra/postgres/sql.ts';
import { countedParts, type Beginnings } from './session-counts.policy.ts';
import type { ShownStatus } from './sessions.policy.ts';

/**
 * @param filter the status, and a range for the time at which the sessions begin. The range includes `since` and excludes `until`
 * @param conditions the same filter as SQL conditions on `mentorship_sessions session`, for the sessions that are counted one by one
 * @returns the number of sessions. One statement adds the tallies of whole days and the sessions of the days at both ends
 */
export async function countSessions(
  db: Queries,
  clubId: Id,
  filter: { status?: ShownStatus | undefined; since?: Date | undefined; until?: Date | undefined },
  conditions: Sql,
  now: Date,
): Promise<number> {
  const { days, ends } = countedParts(filter, now);
  const storedStatus = filter.status === 'completed' ? 'booked' : filter.status;
  const lists = (storedStatus === undefined ? storedSessionStatuses : [storedStatus]).map(
    (status) => `sessions_${status}`,
  );
  const parts = ends.map(
    (end) => sql`SELECT count(*) FROM mentorship_sessions session WHERE ${conditions} AND ${isIn(end)}`,
  );
  if (days) {
    const where = sql`club_id = ${clubId} AND list = ANY (${lists}) AND subject_id BETWEEN ${dayId(days.first)} AND ${dayId(days.last)}`;
    parts.push(sql`SELECT sum(records) FROM list_tallies WHERE ${where}`);
    parts.push(sql`SELECT sum(records) FROM list_tally_changes WHERE ${where}`);
  }
  if (parts.length === 0) return 0;
  const countRow = await db.one<{ total: number }>(
    sql`SELECT coalesce(sum(part), 0)::int AS total FROM (${union(parts)}) AS parts (part)`,
  );
  return countRow?.total ?? 0;
}

const isIn = ({ from, to }: Beginnings): Sql =>
  all([
    sql`true`,
    Number.isFinite(from) ? sql`session.starts_at >= ${new Date(from)}` : undefined,
    Number.isFinite(to) ? sql`session.starts_at < ${new Date(to)}` : undefined,
  ]);

/**
 * The tallies of a day have this id. The ids sort like the days.
 * @param day counted from 1970; may be infinite
 */
const dayId = (day: number): Id =>
  Number.isFinite(day)
    ? day
        .toString(16)
        .padStart(32, '0')
        .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
    : 'ffffffff-ffff-ffff-ffff-ffffffffffff';
