/** Reads the instant from which a mirror asks for changes in its next run (CUR-7, ADR 79). */
import type { Queries } from '../database.ts';
import { sql } from '../sql.ts';

/** The bounds of {@link readNextSince}, in milliseconds. */
export const changeRules = {
  /** The instant lies this much earlier. After a failover, the clock of the new server may be behind by less than this. */
  clocksDifferMs: 2_000,
  /**
   * The assumed age of a transaction whose beginning our role may not see. Postgres hides it if another role runs it, or if
   * `track_activities` is off.
   */
  hiddenTransactionMs: 600_000,
} as const;

/**
 * Reads the instant before the rows. A change that the reader does not see then has this time or a later time: either its transaction was
 * open, and began at this time or later, or it wrote later. The trigger `record_changed` gives a transaction its id before it reads the
 * clock, so the statement sees every transaction with an earlier change.
 * @returns the earliest beginning of an open transaction that writes, or the beginning of this statement, less the difference of clocks.
 *   Sessions without a role belong to Postgres itself, and write no records
 */
export async function readNextSince(db: Queries): Promise<Date> {
  const hidden = sql`statement_timestamp() - ${changeRules.hiddenTransactionMs} * interval '1 millisecond'`;
  const read = await db.one<{ since: Date }>(
    sql`SELECT least(statement_timestamp(), min(coalesce(xact_start, ${hidden}))) - ${changeRules.clocksDifferMs} * interval '1 millisecond' AS since
          FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid()
           AND (backend_xid IS NOT NULL OR query = '<insufficient privilege>' AND usesysid IS NOT NULL)`,
  );
  if (!read) throw new Error('Postgres returned no row for the open transactions.');
  return read.since;
}
