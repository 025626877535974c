/** The mails about the erasure of a club. All owners and admins get them (ERS-3). */
import type { MailTemplate } from '../../entities/mail/values.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { Transaction } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { Vault } from '../../platform/infra/keys/vault.ts';
import { aboutRecipient, type MailKind, type MailKinds } from '../mail/kinds.ts';
import { requestMail } from '../mail/transactional/requests.ts';

/** The mail is sent only while the erasure is planned. It shows the time of the erasure in the club's time zone. */
const aboutPlannedErasure: MailKind = async (db, { clubId }) => {
  const planned = await db.one<{ at: Date; timeZone: string }>(
    sql`SELECT erasure.erases_at AS at, club.time_zone AS "timeZone"
       FROM erasures erasure JOIN clubs club ON club.id = erasure.subject_id
      WHERE erasure.subject_id = ${clubId} AND erasure.kind = 'club' AND erasure.status = 'planned'`,
  );
  return planned && { erasure: planned };
};

export const erasureMails = {
  club_erasure_requested: aboutPlannedErasure,
  club_erasure_reminder: aboutPlannedErasure,
  club_erasure_canceled: aboutRecipient,
} as const satisfies MailKinds;

type ErasureMail = Extract<MailTemplate, keyof typeof erasureMails>;

/** Requests a mail to each owner and admin of the club. The caller has locked the club, so that no membership changes at the same time. */
export async function mailAboutErasure(
  tx: Transaction,
  vault: Vault,
  { clubId, template }: { clubId: Id; template: ErasureMail },
  now: Date,
): Promise<void> {
  const recipients = await tx.rows<{ id: Id; email: string }>(
    sql`SELECT administrator.id, administrator.email
       FROM memberships JOIN administrators administrator ON administrator.id = memberships.administrator_id
      WHERE memberships.club_id = ${clubId} AND memberships.role IN ('owner', 'admin') AND administrator.removed_at IS NULL ORDER BY administrator.id`,
  );
  for (const { id: administratorId, email } of recipients)
    await requestMail(tx, vault, { template, clubId, recipient: { administratorId }, email }, now);
}

/** Requests the reminder, three days before the erasure. The caller records `reminded_at` in the same transaction. */
export function remindOfErasure(tx: Transaction, vault: Vault, clubId: Id, now: Date): Promise<void> {
  return mailAboutErasure(tx, vault, { clubId, template: 'club_erasure_reminder' }, now);
}
