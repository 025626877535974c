/** Handles events that prove that a mail was sent, even if the row of the mail says something else (CAMP-14). */
import { sql, type Sql } from '../../platform/infra/postgres/sql.ts';

/**
 * SQL for the time of the earliest event that proves that the mail was sent; null if there is no such event. It reads columns of `mails`.
 */
export const provenAt: Sql = sql`least(delivered_at, bounced_at, soft_bounced_at, complained_at, opened_at, clicked_at, machine_opened_at, machine_clicked_at)`;

/**
 * The SET clauses of an UPDATE of `mails`, after an event has proved that the mail was sent. They change the status to `sent`. If a worker
 * is still handing the mail over, they do not change the status, because that worker records the result.
 * @param at when the event happened
 */
export const sentByEvidence = (at: Sql): Sql => sql`
  status = CASE WHEN status = 'sending' THEN status ELSE 'sent' END,
  skip_reason = NULL,
  last_error = CASE WHEN status = 'sending' THEN last_error END,
  sent_at = CASE WHEN status = 'sending' THEN sent_at ELSE least(sent_at, ${at}) END`;

/** SET clauses of an UPDATE of `mails` at the end of a hand-over. They set the outcome, or `sent` if an event has already proved it. */
export const settledAs = (status: 'failed' | 'pending' | 'skipped', lastError: Sql): Sql => sql`
  status = CASE WHEN ${provenAt} IS NULL THEN ${status}::text ELSE 'sent' END,
  skip_reason = CASE WHEN ${provenAt} IS NULL AND ${status}::text = 'skipped' THEN 'canceled' END,
  last_error = CASE WHEN ${provenAt} IS NULL THEN ${lastError} END,
  sent_at = ${provenAt}`;
