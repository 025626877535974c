/** Mails that a worker was handing over when it went away (RUN-2). */
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { sql, type Sql } from '../../../platform/infra/postgres/sql.ts';
import { settledAs } from '../evidence.ts';
import { outcomeUnknown } from './recipients.policy.ts';

/**
 * Gives up those whose lease is over: they may have arrived, and have where something proves it.
 * @param mails which, by columns of `mails`
 * @returns when the next lease of them is over; undefined where nothing is under way
 */
export async function giveUpLeases(db: Queries, mails: Sql): Promise<Date | undefined> {
  await db.run(sql`UPDATE mails SET lease_until = NULL, ${settledAs('failed', sql`${outcomeUnknown}::text`)}
    WHERE ${mails} AND status = 'sending' AND lease_until < clock_timestamp()`);
  const left = await db.one<{ leased: Date | null }>(
    sql`SELECT min(lease_until) AS leased FROM mails WHERE ${mails} AND status = 'sending'`,
  );
  return left?.leased ?? undefined;
}
