/** Handles bulk mails that a worker was sending when it died (RUN-2). */
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { sql, type Sql } from '../../../platform/infra/postgres/sql.ts';
import { settledAs } from '../evidence.ts';
import { outcomeUnknown } from './recipients.policy.ts';

/**
 * Records a final status for mails whose lease has expired. Such a mail may have arrived. It becomes `failed`, or `sent` if an event proves
 * that it was sent.
 * @param mails a condition with columns of `mails`
 * @returns the time at which the next lease ends; undefined if no mail is being handed over
 */
export async function endExpiredLeases(db: Queries, mails: Sql): Promise<Date | undefined> {
  await db.run(sql`UPDATE mails SET lease_until = NULL, ${settledAs('failed', sql`${outcomeUnknown}::text`)}
    WHERE ${mails} AND status = 'sending' AND lease_until < clock_timestamp()`);
  const next = await db.one<{ leased: Date | null }>(
    sql`SELECT min(lease_until) AS leased FROM mails WHERE ${mails} AND status = 'sending'`,
  );
  return next?.leased ?? undefined;
}
