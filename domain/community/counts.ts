/** Reads the numbers of members, posts and comments from tallies, so that the cost does not grow with these numbers (ADR 11). */
import { sql, type Sql } from '../../platform/infra/postgres/sql.ts';
import type { Id } from '../../platform/core/ids.ts';

/**
 * SQL for the member count of each space, with the columns `subject_id` and `members`. A statement reads it only once for all its spaces.
 */
export function memberCounts(clubId: Id): Sql {
  const where = sql`club_id = ${clubId} AND list = 'space_members' AND marked`;
  return sql`(SELECT subject_id, sum(records)::int AS members FROM (
    SELECT subject_id, records FROM list_tallies WHERE ${where}
    UNION ALL SELECT subject_id, records FROM list_tally_changes WHERE ${where}) AS parts GROUP BY 1)`;
}
