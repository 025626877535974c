/** Counts the mails that a club sends to an address, and separately the requests for addresses that get no mail (DEC-141). */
import type { MailTemplate } from '../../../entities/mail/values.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { requestRules, withheldUntil } from './request-bounds.policy.ts';
import { mailTemplates } from '../texts/templates.ts';

/** The mails of one club are counted together, and so are the mails about administrators' accounts. */
interface CountedMails {
  clubId: Id | null;
  template: MailTemplate;
}

/**
 * Counts the mails that were sent, and the pending mails. A pending mail counts at its planned time. Failed and canceled mails do not
 * count. If the token of a pending mail no longer exists, the mail counts only while a worker is sending it.
 * @param addressKeys the keys of any number of addresses
 * @returns until when the next mail to an address is withheld, by the address's key in hexadecimal. A missing address may get a mail now
 */
export async function withheldAddresses(
  db: Queries,
  { clubId, template }: CountedMails,
  addressKeys: readonly Buffer[],
  now: Date,
): Promise<ReadonlyMap<string, Date>> {
  const hasToken = 'purpose' in mailTemplates[template];
  const rows = await db.rows<{ key: Buffer; newestFirst: Date[] }>(sql`
    SELECT address_key AS key, array_agg(at ORDER BY at DESC) AS "newestFirst"
      FROM (SELECT address_key, coalesce(sent_at, CASE WHEN attempt_count = 0 THEN greatest(created_at, next_attempt_at) ELSE created_at END) AS at
              FROM transactional_mails
             WHERE address_key = ANY (${addressKeys}) AND template = ${template} AND club_id IS NOT DISTINCT FROM ${clubId}::uuid
               AND (status = 'sent' OR status = 'pending' AND (NOT ${hasToken}::boolean OR token_id IS NOT NULL OR lease_until > clock_timestamp()))) AS mail
     WHERE at > ${new Date(now.getTime() - requestRules.hourMs)}
     GROUP BY address_key`);
  return new Map(
    rows.flatMap(({ key, newestFirst }) => {
      const until = withheldUntil(newestFirst, now);
      return until === undefined ? [] : [[key.toString('hex'), until] as const];
    }),
  );
}

/**
 * Counts the requests for an address that caused no mail. Either the address has no account, or the account does not get this mail. These
 * requests do not count for the limit of sent mails.
 * @returns whether the limit is reached, so that the service must write nothing for the next such request
 */
export async function hadEnoughRequests(
  db: Queries,
  { clubId, template }: CountedMails,
  addressKey: Buffer,
  now: Date,
): Promise<boolean> {
  const requests = await db.rows<{ at: Date }>(sql`
    SELECT created_at AS at FROM transactional_mails
     WHERE address_key = ${addressKey} AND template = ${template} AND club_id IS NOT DISTINCT FROM ${clubId}::uuid
       AND status = 'canceled' AND num_nonnulls(student_id, administrator_id, invitation_id) = 0
       AND created_at > ${new Date(now.getTime() - requestRules.hourMs)}
     ORDER BY created_at DESC LIMIT ${requestRules.mailsAnHour}`);
  return (
    withheldUntil(
      requests.map(({ at }) => at),
      now,
    ) !== undefined
  );
}
