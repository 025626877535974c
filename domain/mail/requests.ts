/** Asking for a transactional mail: a row and a wake, in the transaction of the act that it answers. */
import type { Transaction } from '../core/database.ts';
import { newId, type Id } from '../core/ids.ts';
import type { Vault } from '../core/secrets.ts';
import { wake } from '../facts/facts.ts';
import { issueToken } from '../identity/one-time-tokens.ts';
import { mailTemplates, type MailTemplate } from './templates.ts';

export type Recipient = { studentId: Id } | { administratorId: Id } | { invitationId: Id };

export interface MailRequest {
  template: MailTemplate;
  clubId: Id | null;
  recipient: Recipient;
  /** For a mail whose token carries a password: what becomes the account's when it is spent. */
  passwordHash?: string | null;
}

/** Mails of one template to one person an hour: who asks for more, from however many addresses, fills no mailbox. */
export const mailsPerHour = 5;
const hourMs = 3_600_000;

/**
 * Issues the template's token, if it has one, and asks for the mail. A sixth mail of the same template to the same
 * person within an hour is silently not sent: the answer to the caller must not tell whether there is an account.
 */
export async function requestMail(tx: Transaction, vault: Vault, request: MailRequest, now: Date): Promise<void> {
  const { template, clubId, recipient, passwordHash } = request;
  const [column, recipientId] = recipientColumn(recipient);
  const [recent] = await tx.query<{ count: number }[]>(
    `SELECT count(*)::int AS count FROM transactional_mails WHERE ${column} = $1 AND template = $2 AND created_at > $3`,
    [recipientId, template, new Date(now.getTime() - hourMs)],
  );
  if (recent && recent.count >= mailsPerHour) return;

  const rule = mailTemplates[template];
  const tokenId =
    'purpose' in rule
      ? await issueToken(
          tx,
          vault,
          { purpose: rule.purpose, owner: recipient, passwordHash: passwordHash ?? null },
          now,
        )
      : null;
  const id = newId();
  await tx.query(
    `INSERT INTO transactional_mails (id, club_id, template, ${column}, token_id, status, next_attempt_at, created_at)
     VALUES ($1, $2, $3, $4, $5, 'pending', $6, $6)`,
    [id, clubId, template, recipientId, tokenId, now],
  );
  await wake(
    tx,
    [
      {
        workflowType: 'transactionalMail',
        subjectId: id,
        clubId,
        attributes: clubId === null ? {} : { ClubId: clubId },
      },
    ],
    now,
  );
}

/** Writes what a request for nobody's mail writes, so that it takes the time that one for somebody's takes. */
export async function requestNoMail(tx: Transaction, template: MailTemplate, now: Date): Promise<void> {
  await tx.query(
    `INSERT INTO transactional_mails (id, template, status, next_attempt_at, created_at) VALUES ($1, $2, 'canceled', $3, $3)`,
    [newId(), template, now],
  );
}

function recipientColumn(recipient: Recipient): ['student_id' | 'administrator_id' | 'invitation_id', Id] {
  if ('studentId' in recipient) return ['student_id', recipient.studentId];
  if ('administratorId' in recipient) return ['administrator_id', recipient.administratorId];
  return ['invitation_id', recipient.invitationId];
}
