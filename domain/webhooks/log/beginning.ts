/**
 * Starts the log of a club: from then on, every event of the club gets a body, also without a subscribed endpoint (EVT-23). Most clubs have
 * neither an endpoint nor a reader, and pay nothing for the log.
 */
import type { Id } from '../../../platform/core/ids.ts';
import type { Database, Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';

/**
 * Starts the log of a club that has none. A fact that commits later is fanned out later, so its fan-out sees the start.
 */
export async function startLog(tx: Transaction, clubId: Id, now: Date): Promise<void> {
  await tx.run(sql`UPDATE clubs SET events_logged_since = ${now} WHERE id = ${clubId} AND events_logged_since IS NULL`);
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
