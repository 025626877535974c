/** Sources that older readers have read are read again, club by club, as bulk work: what changes in an index waits for nobody. */
import { bulk } from '../../../entities/facts/values.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Database } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { wakeSources, wantedAnew } from '../sources.ts';
import { readerVersion } from './indexing.policy.ts';

/** No more of the service's sources wait to be read because of this: a minute's work. */
const waiting = 100;

/**
 * Has old sources read again, as many as there is room for beside those that wait anyway. Their passages serve until then, and so
 * do those of a source that cannot be read any more.
 * @param version below which a reader is old
 * @returns how many
 */
export async function readOldSourcesAgain(db: Database, now: Date, version: number = readerVersion): Promise<number> {
  return db.transaction(async (tx) => {
    const busy = await tx.one<{ count: number }>(
      sql`SELECT count(*)::int AS count FROM (SELECT FROM agent_sources WHERE looks_at IS NOT NULL LIMIT ${waiting}) AS one`,
    );
    const sources = await tx.rows<{ id: Id; clubId: Id }>(
      sql`UPDATE agent_sources SET ${wantedAnew(now)}
           WHERE id IN (SELECT id FROM agent_sources WHERE reader_version < ${version} AND looks_at IS NULL
                         ORDER BY reader_version, club_id, id LIMIT ${waiting - (busy?.count ?? 0)} FOR UPDATE SKIP LOCKED)
          RETURNING id, club_id AS "clubId"`,
    );
    for (const [clubId, ofClub] of Map.groupBy(sources, (source) => source.clubId))
      await wakeSources(
        tx,
        clubId,
        ofClub.map(({ id }) => id),
        now,
        bulk,
      );
    return sources.length;
  });
}
