/**
 * Counts the mails that a club sent to an address, and apart from them the requests for addresses that get no mail (DEC-141). What a
 * stranger or another club asks for changes neither count of this club's mails.
 */
import type { MailTemplate } from '../../../entities/mail/values.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { requestRules, withheldUntil } from './request-bounds.policy.ts';
import { mailTemplates } from '../texts/templates.ts';

/** The mails that are counted together: those of one club, or those that are about the accounts of administrators. */
interface Counted {
  clubId: Id | null;
  template: MailTemplate;
}

/**
 * Counts mails that were handed over, and those that may still be, at the time for which they wait: neither the failed and canceled ones, nor one whose token is
 * gone, unless a worker is sending it at the moment.
 * @param addressKeys of any number of addresses
 * @returns until when the next mail to an address is withheld, by the address's key in hexadecimal; the others may have one now
 */
export async function withheldAddresses(
  db: Queries,
  { clubId, template }: Counted,
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
 * Counts requests for an address that no mail answered, because it has no account, or none that wants the mail. Nothing that can be
 * sent depends on this count.
 * @returns whether the next such request writes nothing
 */
export async function hadEnoughRequests(
  db: Queries,
  { clubId, template }: Counted,
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
