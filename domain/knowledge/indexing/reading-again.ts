/**
 * Requests that sources are read again, if an older reader has read them or if they wait for OCR. These requests have the priority `bulk`
 * and go club by club, so that normal indexing comes first.
 */
import { bulk } from '../../../entities/facts/values.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Database, Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { wakeSources, wantedAnew } from '../sources.ts';
import { readerVersion } from './indexing.policy.ts';
import { isOpenClub } from '../../open-clubs.ts';

/** The maximum number of sources, of all clubs together, that wait to be read again. This is about one minute of work. */
const waiting = 100;

/**
 * Requests that old sources are read again, a limited number at a time. Until then, and if a source can no longer be read, its old passages
 * stay in use.
 * @param options.readsScans whether the deployment has OCR. Then sources with scanned pages that OCR has not tried are included
 * @param options.version the version of the readers; a source of an older version is old
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
           WHERE id IN (SELECT id FROM agent_sources WHERE reader_version < ${version} AND looks_at IS NULL AND ${isOpenClub(sql`club_id`)}
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

/**
 * Requests that sources with due OCR are read again. If OCR is still impossible, the step stores a later time, so that the source is not
 * read all the time.
 */
function wantScannedAnew(tx: Transaction, now: Date, limit: number): Promise<{ id: Id; clubId: Id }[]> {
  return tx.rows<{ id: Id; clubId: Id }>(
    sql`UPDATE agent_sources SET ${wantedAnew(now)}
         WHERE id IN (SELECT id FROM agent_sources WHERE ocr_due_at <= ${now} AND looks_at IS NULL AND ${isOpenClub(sql`club_id`)}
                       ORDER BY ocr_due_at, id LIMIT ${limit} FOR UPDATE SKIP LOCKED)
        RETURNING id, club_id AS "clubId"`,
  );
}
