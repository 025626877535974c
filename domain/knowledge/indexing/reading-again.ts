/** Sources that older readers have read, or that wait for OCR, are read again, club by club, as bulk work: what changes in an index waits for nobody. */
import { bulk } from '../../../entities/facts/values.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Database, Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { wakeSources, wantedAnew } from '../sources.ts';
import { readerVersion } from './indexing.policy.ts';

/** No more of the service's sources wait to be read because of this: a minute's work. */
const waiting = 100;

/**
 * Has old sources read again, as many as there is room for beside those that wait anyway. Their passages serve until then, and so
 * do those of a source that cannot be read any more.
 * @param options.readsScans whether the deployment has OCR: sources whose scanned pages it was not tried for are read again, too
 * @param options.version below which a reader is old
 * @returns how many
 */
export async function readOldSourcesAgain(
  db: Database,
  now: Date,
  { readsScans, version = readerVersion }: { readsScans: boolean; version?: number },
): Promise<number> {
  return db.transaction(async (tx) => {
    const busy = await tx.one<{ count: number }>(
      sql`SELECT count(*)::int AS count FROM (SELECT FROM agent_sources WHERE looks_at IS NOT NULL LIMIT ${waiting}) AS one`,
    );
    const room = waiting - (busy?.count ?? 0);
    const old = await tx.rows<{ id: Id; clubId: Id }>(
      sql`UPDATE agent_sources SET ${wantedAnew(now)}
           WHERE id IN (SELECT id FROM agent_sources WHERE reader_version < ${version} AND looks_at IS NULL
                         ORDER BY reader_version, club_id, id LIMIT ${room} FOR UPDATE SKIP LOCKED)
          RETURNING id, club_id AS "clubId"`,
    );
    const scanned = readsScans ? await wantScannedAnew(tx, now, room - old.length) : [];
    const sources = [...old, ...scanned];
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

/** OCR that could not be tried writes a later time, so no source is read without end. */
function wantScannedAnew(tx: Transaction, now: Date, limit: number): Promise<{ id: Id; clubId: Id }[]> {
  return tx.rows<{ id: Id; clubId: Id }>(
    sql`UPDATE agent_sources SET ${wantedAnew(now)}
         WHERE id IN (SELECT id FROM agent_sources WHERE ocr_due_at <= ${now} AND looks_at IS NULL
                       ORDER BY ocr_due_at, id LIMIT ${limit} FOR UPDATE SKIP LOCKED)
        RETURNING id, club_id AS "clubId"`,
  );
}
