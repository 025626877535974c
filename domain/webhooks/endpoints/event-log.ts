/**
 * Starts the log of a club: from then on, every event of the club gets a body, also without a subscribed endpoint (EVT-23). Most clubs have
 * neither an endpoint nor a reader of the log, so no log is written for them.
 */
import type { Id } from '../../../platform/core/ids.ts';
import type { Database, Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';

/** Starts the log of a club that has none. Facts that commit later are fanned out later, and so get into the log. */
export async function startLog(tx: Transaction, clubId: Id, now: Date): Promise<void> {
  await tx.run(sql`UPDATE clubs SET events_logged_since = ${now} WHERE id = ${clubId} AND events_logged_since IS NULL`);
}

/** One round of retention starts at most this many logs. */
const logsPerRound = 1_000;

/**
 * Starts the missing logs of clubs that created an endpoint in an older release, which had no logs. If another transaction has locked a
 * club, the next round starts its log.
 */
export async function startMissingLogs(db: Database, now: Date): Promise<{ started: number; more: boolean }> {
  const started = await db.run(
    sql`UPDATE clubs SET events_logged_since = ${now} WHERE id IN (
       SELECT id FROM clubs WHERE events_logged_since IS NULL AND erasing_at IS NULL
          AND EXISTS (SELECT FROM webhook_endpoints endpoint WHERE endpoint.club_id = clubs.id AND endpoint.deleted_at IS NULL)
        LIMIT ${logsPerRound} FOR NO KEY UPDATE SKIP LOCKED)`,
  );
  return { started, more: started >= logsPerRound };
}

/** @returns the time from which the log has every event of the club. The first read starts the log, and has this time */
export async function requireLog(db: Database, clubId: Id, now: Date): Promise<Date> {
  const startedBefore = await findStart(db, clubId);
  if (startedBefore) return startedBefore;
  await db.transaction((tx) => startLog(tx, clubId, now));
  return (await findStart(db, clubId)) ?? now;
}

async function findStart(db: Database, clubId: Id): Promise<Date | null> {
  const club = await db.one<{ since: Date | null }>(
    sql`SELECT events_logged_since AS since FROM clubs WHERE id = ${clubId}`,
  );
  return club?.since ?? null;
}
