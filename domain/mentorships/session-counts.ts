/** How many sessions a club has, over all mentors, from tallies of days: at a cost that does not grow with them (ADR 11). */
import { storedSessionStatuses } from '../../entities/mentorships/values.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { all, sql, union, type Sql } from '../../platform/infra/postgres/sql.ts';
import { countedParts, type Beginnings } from './session-counts.policy.ts';
import type { ShownStatus } from './sessions.policy.ts';

/**
 * @param filter sessions with this status, that begin at or after `since`, and before `until`
 * @param conditions of `mentorship_sessions session`: the same filter, for what is counted one by one
 * @returns how many there are: tallies of whole days, and the sessions of the days at both ends, in one statement
 */
export async function countSessions(
  db: Queries,
  clubId: Id,
  filter: { status?: ShownStatus | undefined; since?: Date | undefined; until?: Date | undefined },
  conditions: Sql,
  now: Date,
): Promise<number> {
  const { days, ends } = countedParts(filter, now);
  const stored = filter.status === 'completed' ? 'booked' : filter.status;
  const lists = (stored === undefined ? storedSessionStatuses : [stored]).map((status) => `sessions_${status}`);
  const parts = ends.map(
    (end) => sql`SELECT count(*) FROM mentorship_sessions session WHERE ${conditions} AND ${isIn(end)}`,
  );
  if (days) {
    const where = sql`club_id = ${clubId} AND list = ANY (${lists}) AND subject_id BETWEEN ${dayId(days.first)} AND ${dayId(days.last)}`;
    parts.push(sql`SELECT sum(records) FROM list_tallies WHERE ${where}`);
    parts.push(sql`SELECT sum(records) FROM list_tally_changes WHERE ${where}`);
  }
  if (parts.length === 0) return 0;
  const counted = await db.one<{ total: number }>(
    sql`SELECT coalesce(sum(part), 0)::int AS total FROM (${union(parts)}) AS parts (part)`,
  );
  return counted?.total ?? 0;
}

const isIn = ({ from, to }: Beginnings): Sql =>
  all([
    sql`true`,
    Number.isFinite(from) ? sql`session.starts_at >= ${new Date(from)}` : undefined,
    Number.isFinite(to) ? sql`session.starts_at < ${new Date(to)}` : undefined,
  ]);

/** The subject of a day's tallies: ids in the order of days. @param day since 1970; may be infinite */
const dayId = (day: number): Id =>
  Number.isFinite(day)
    ? day
        .toString(16)
        .padStart(32, '0')
        .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
    : 'ffffffff-ffff-ffff-ffff-ffffffffffff';
