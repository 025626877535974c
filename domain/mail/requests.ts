/** Asking for a transactional mail: a row and a wake, in the transaction of the act that it answers. */
import { addressKeyOf } from '../../platform/infra/address-keys.ts';
import type { Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import type { Vault } from '../../platform/infra/vault.ts';
import { wake } from '../../platform/engine/wakes.ts';
import { workflowIdOf } from '../../platform/engine/workflow-types.ts';
import { issueToken } from './one-time-tokens.ts';
import type { MailTemplate } from '../../entities/mail/values.ts';
import { mailTemplates } from './templates.ts';

export type Recipient = { studentId: Id } | { administratorId: Id } | { invitationId: Id };

export interface MailRequest {
  template: MailTemplate;
  clubId: Id | null;
  recipient: Recipient;
  /** The recipient's address, folded: what is counted, whatever account or invitation it belongs to at the time. */
  email: string;
  /** The webhook endpoint that it is about. */
  endpointId?: Id;
}

/** Mails of one template to one address an hour: who asks for more, by whatever way, fills no mailbox. */
const mailsPerHour = 5;
const hourMs = 3_600_000;
/** Beyond that, one now and then: a stranger who uses the hour up must not keep the owner from a code that works. */
const oneMoreEveryMs = 10 * 60_000;

/**
 * Issues the template's token, if it has one, and asks for the mail; or does not, silently, when the address has had
 * enough of them: the answer to the caller must not tell whether there is an account.
 */
export async function requestMail(tx: Transaction, vault: Vault, request: MailRequest, now: Date): Promise<void> {
  const { template, clubId, recipient } = request;
  const addressKey = addressKeyOf(vault, request.email);
  const rule = mailTemplates[template];
  if (!('uncapped' in rule) && (await hadEnough(tx, addressKey, template, now))) return;

  const tokenId =
    'purpose' in rule ? await issueToken(tx, vault, { purpose: rule.purpose, owner: recipient }, now) : null;
  const [column, recipientId] = recipientColumn(recipient);
  const id = newId();
  await tx.query(
    `INSERT INTO transactional_mails (id, club_id, template, ${column}, token_id, address_key, endpoint_id, status, next_attempt_at, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, 'pending', $8, $8)`,
    [id, clubId, template, recipientId, tokenId, addressKey, request.endpointId ?? null, now],
  );
  await wake(tx, 'transactionalMail', [{ id, clubId }], now);
}

/**
 * For an address that has no account: the statements that a mail would take, and no mail. What the caller waits for
 * must not tell one from the other either.
 */
export async function requestNoMail(
  tx: Transaction,
  vault: Vault,
  { template, clubId, email }: Omit<MailRequest, 'recipient'>,
  now: Date,
): Promise<void> {
  const addressKey = addressKeyOf(vault, email);
  if (await hadEnough(tx, addressKey, template, now)) return;
  const id = newId();
  await tx.query(
    `INSERT INTO transactional_mails (id, template, address_key, status, next_attempt_at, created_at)
     VALUES ($1, $2, $3, 'canceled', $4, $4)`,
    [id, template, addressKey, now],
  );
  await wake(tx, 'transactionalMail', [{ id, clubId }], now);
  await tx.query(`DELETE FROM wakes WHERE workflow_id = $1`, [workflowIdOf('transactionalMail', id)]);
}

async function hadEnough(db: Queries, addressKey: Buffer, template: MailTemplate, now: Date): Promise<boolean> {
  const [recent] = await db.query<{ count: number; newest: Date | null }[]>(
    `SELECT count(*)::int AS count, max(created_at) AS newest
       FROM transactional_mails WHERE address_key = $1 AND template = $2 AND created_at > $3`,
    [addressKey, template, new Date(now.getTime() - hourMs)],
  );
  if (!recent?.newest || recent.count < mailsPerHour) return false;
  return now.getTime() - recent.newest.getTime() < oneMoreEveryMs;
}

function recipientColumn(recipient: Recipient): ['student_id' | 'administrator_id' | 'invitation_id', Id] {
  if ('studentId' in recipient) return ['student_id', recipient.studentId];
  if ('administratorId' in recipient) return ['administrator_id', recipient.administratorId];
  return ['invitation_id', recipient.invitationId];
}
