/** Handles events that prove that a mail was sent, whatever its row says (CAMP-14). */
import { sql, type Sql } from '../../platform/infra/postgres/sql.ts';

/** The earliest event that proves that the mail was sent; null without one. Reads columns of `mails`. */
export const provenAt: Sql = sql`least(delivered_at, bounced_at, soft_bounced_at, complained_at, opened_at, clicked_at, machine_opened_at, machine_clicked_at)`;

/**
 * SET clauses of an UPDATE of `mails` after such an event. They set `sent`, unless a worker still hands the mail over and will record the
 * result.
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
