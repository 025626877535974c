/** What proves that a mail went out, whatever was recorded before (CAMP-14). */
import { sql, type Sql } from '../../platform/infra/postgres/sql.ts';

/** The earliest time at which something happened to a mail that had gone out; null where nothing is known. Columns of `mails`. */
export const provenAt: Sql = sql`least(delivered_at, bounced_at, soft_bounced_at, complained_at, opened_at, clicked_at, machine_opened_at, machine_clicked_at)`;

/**
 * Sets of an UPDATE of `mails`, by which evidence makes a mail `sent`: not while it is being handed over, for who does that
 * records it.
 * @param at when what proves it happened
 */
export const sentByEvidence = (at: Sql): Sql => sql`
  status = CASE WHEN status = 'sending' THEN status ELSE 'sent' END,
  skip_reason = NULL,
  last_error = CASE WHEN status = 'sending' THEN last_error END,
  sent_at = CASE WHEN status = 'sending' THEN sent_at ELSE least(sent_at, ${at}) END`;

/**
 * Sets of an UPDATE of `mails` that are being handed over: their outcome, or `sent` where something has proved meanwhile that
 * they went out.
 * @param status `skipped` stands for the campaign's end
 */
export const settledAs = (status: 'failed' | 'pending' | 'skipped', lastError: Sql): Sql => sql`
  status = CASE WHEN ${provenAt} IS NULL THEN ${status}::text ELSE 'sent' END,
  skip_reason = CASE WHEN ${provenAt} IS NULL AND ${status}::text = 'skipped' THEN 'canceled' END,
  last_error = CASE WHEN ${provenAt} IS NULL THEN ${lastError} END,
  sent_at = ${provenAt}`;
