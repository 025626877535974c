/**
 * Records the outcome of e-mails of ended runs, if the worker died while it sent the e-mail. An ended run makes no more steps, so it cannot
 * record this outcome (AUTO-13).
 */
import type { Database } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { settledAs } from '../../mail/evidence.ts';
import { outcomeUnknown } from '../../mail/sending/recipients.policy.ts';

const mailsPerBatch = 500;

/**
 * Marks a batch of these e-mails as failed with an unknown outcome, or as sent if a report of the provider proves it. A repeated call
 * changes nothing.
 */
export async function settleLeftMails(db: Database): Promise<{ rows: { mailsLeft: number }; more: boolean }> {
  const settledCount = await db.run(sql`
    UPDATE mails SET ${settledAs('failed', sql`${outcomeUnknown}::text`)}, lease_until = NULL WHERE id IN (
      SELECT mail.id FROM mails mail JOIN automation_runs run ON run.id = mail.run_id
       WHERE mail.run_id IS NOT NULL AND mail.status = 'sending' AND mail.lease_until < clock_timestamp() AND run.status <> 'active'
       ORDER BY mail.lease_until LIMIT ${mailsPerBatch} FOR NO KEY UPDATE OF mail SKIP LOCKED)`);
  return { rows: { mailsLeft: settledCount }, more: settledCount === mailsPerBatch };
}
