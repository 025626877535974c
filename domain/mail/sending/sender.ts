/** The sender settings of a club's campaigns and automations: name, reply and postal addresses, tracking and rate (CAMP-4). */
import type { RecordOf } from '../../../contract/contract.ts';
import { MailSender } from '../../../entities/mail/mail-sender.ts';
import type { Tracking } from '../../../entities/mail/values.ts';
import { notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { plainName } from '../../../platform/core/text/names.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../../deps.ts';

/** @throws DomainError not_found, if the club has no sender settings */
export async function findSender(db: Queries, clubId: Id): Promise<RecordOf<'MailSender'>> {
  const sender = await db.manager.findOneBy(MailSender, { clubId });
  if (!sender) throw notFound('mail sender');
  return {
    from_name: sender.fromName,
    ...(sender.replyTo !== null && { reply_to: sender.replyTo }),
    postal_address: sender.postalAddress,
    tracking: sender.tracking,
    mails_per_minute: sender.mailsPerMinute,
    updated_at: sender.updatedAt.toISOString(),
  };
}

interface SenderInput {
  from_name: string;
  reply_to?: string;
  postal_address: string;
  tracking?: Tracking;
  mails_per_minute?: number;
}

/**
 * Replaces all settings of the sender. E-mails that are already compiled keep the old postal address.
 * @throws DomainError invalid_request, for a name with a web address (DEC-64)
 */
export async function setSender(
  { db }: DatabaseDeps,
  clubId: Id,
  input: SenderInput,
  now: Date,
): Promise<RecordOf<'MailSender'>> {
  const { from_name: fromName, reply_to: replyTo = null, tracking = 'all', mails_per_minute: rate = 600 } = input;
  const postalAddress = input.postal_address.replaceAll(/\r\n?/g, '\n').trim();
  // A new token bucket starts full. An existing bucket keeps its tokens.
  return db.transaction(async (tx) => {
    await tx.run(sql`INSERT INTO mail_senders
        (club_id, from_name, reply_to, postal_address, tracking, mails_per_minute, allowance, allowance_at, updated_at)
      VALUES (${clubId}, ${plainName(fromName, 'from_name')}, ${replyTo}, ${postalAddress}, ${tracking}, ${rate}, ${rate}, ${now}, ${now})
      ON CONFLICT (club_id) DO UPDATE SET from_name = excluded.from_name, reply_to = excluded.reply_to, postal_address = excluded.postal_address,
        tracking = excluded.tracking, mails_per_minute = excluded.mails_per_minute, updated_at = excluded.updated_at`);
    return findSender(tx, clubId);
  });
}
