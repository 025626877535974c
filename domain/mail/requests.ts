/** Asking for a transactional mail: a row and a wake, in the transaction of the act that it answers. */
import { TransactionalMail } from '../../entities/mail/transactional-mail.ts';
import { Wake } from '../../entities/facts/wake.ts';
import { addressKeyOf } from '../../platform/infra/address-keys.ts';
import type { Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { raw, sql } from '../../platform/infra/postgres/sql.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import type { Vault } from '../../platform/infra/vault.ts';
import { wake } from '../../platform/engine/wakes.ts';
import { workflowIdOf } from '../../platform/engine/workflow-types.ts';
import { issueToken, issueTokens } from './one-time-tokens.ts';
import { bulk, type Priority } from '../../entities/facts/values.ts';
import type { MailTemplate } from '../../entities/mail/values.ts';
import { mailTemplates } from './templates.ts';

export type Recipient = { studentId: Id } | { administratorId: Id } | { invitationId: Id };

/** When a session was to be before it moved to another mentor. */
export interface FormerTime {
  startsAt: Date;
  endsAt: Date;
}

export interface MailRequest {
  template: MailTemplate;
  clubId: Id | null;
  recipient: Recipient;
  /**
   * The recipient's address, folded: what is counted, whatever account or invitation it belongs to at the time. The mail
   * goes to the address that the account has when it is sent, or to this one where the template is for a former address.
   */
  email: string;
  /** The webhook endpoint that it is about. */
  endpointId?: Id;
  /** The review that it tells of, which is told once. */
  reviewId?: Id;
  /** The session of a mentorship that it tells of: each template tells once of each of its times. */
  session?: { id: Id; sequence: number; former?: FormerTime };
  /** How urgent it is; as the template says if absent. */
  priority?: Priority;
}

/** Mails of one template to one address an hour: who asks for more, by whatever way, fills no mailbox. */
const mailsPerHour = 5;
const hourMs = 3_600_000;
/** Beyond that, one now and then: a stranger who uses the hour up must not keep the owner from a code that works. */
const oneMoreEveryMs = 10 * 60_000;

/**
 * Issues the template's token, if it has one, and asks for the mail; or does not, silently, when the address has had
 * enough of them: the answer to the caller must not tell whether there is an account.
 * @returns the id of the token
 */
export async function requestMail(tx: Transaction, vault: Vault, request: MailRequest, now: Date): Promise<Id | null> {
  const { template, clubId, recipient } = request;
  const addressKey = addressKeyOf(vault, request.email);
  const rule = mailTemplates[template];
  if (!('uncapped' in rule) && (await hadEnough(tx, addressKey, template, now))) return null;

  const tokenId =
    'purpose' in rule ? await issueToken(tx, vault, { purpose: rule.purpose, owner: recipient }, now) : null;
  const [column, recipientId] = recipientColumn(recipient);
  const id = newId();
  const priority = request.priority ?? rule.priority;
  const sealedAddress = 'toFormerAddress' in rule ? vault.seal(request.email, id) : null;
  const inserted = await tx.rows(sql`INSERT INTO transactional_mails
       (id, club_id, template, ${raw(column)}, token_id, address_key, sealed_address, endpoint_id, review_id, session_id, session_sequence, former_starts_at, former_ends_at, status, next_attempt_at, created_at, priority)
     VALUES (${id}, ${clubId}, ${template}, ${recipientId}, ${tokenId}, ${addressKey}, ${sealedAddress}, ${request.endpointId ?? null},
       ${request.reviewId ?? null}, ${request.session?.id ?? null}, ${request.session?.sequence ?? null}, ${request.session?.former?.startsAt ?? null},
       ${request.session?.former?.endsAt ?? null}, 'pending', ${now}, ${now}, ${priority})
     ON CONFLICT (session_id, template, session_sequence) DO NOTHING RETURNING 1`);
  if (inserted.length > 0) await wake(tx, 'transactionalMail', [{ id, clubId, priority }], now);
  return tokenId;
}

/**
 * Invites many students of a club, as `requestMail` does one: as bulk, and in a number of statements that does not grow with
 * theirs, because the caller holds what others of the club wait for.
 * @param students with their addresses, folded; none twice
 */
export async function requestInvitations(
  tx: Transaction,
  vault: Vault,
  clubId: Id,
  students: readonly { studentId: Id; email: string }[],
  now: Date,
): Promise<void> {
  const template = 'student_invitation';
  const addressed = students.map((student) => ({ ...student, key: addressKeyOf(vault, student.email) }));
  const keys = addressed.map(({ key }) => key);
  const sated = await addressesWithEnough(tx, keys, template, now);
  const invited = addressed.filter(({ key }) => !sated.has(key.toString('hex')));
  if (invited.length === 0) return;
  const studentIds = invited.map(({ studentId }) => studentId);
  const tokenIds = await issueTokens(tx, vault, mailTemplates[template].purpose, studentIds, now);
  const ids = invited.map(() => newId());
  await tx.run(sql`INSERT INTO transactional_mails
       (id, club_id, template, student_id, token_id, address_key, status, next_attempt_at, created_at, priority)
     SELECT id, ${clubId}, ${template}, student_id, token_id, address_key, 'pending', ${now}, ${now}, ${bulk}
       FROM unnest(${ids}::uuid[], ${studentIds}::uuid[], ${tokenIds}::uuid[], ${invited.map(({ key }) => key)}::bytea[])
         AS asked (id, student_id, token_id, address_key)`);
  const mails = ids.map((id) => ({ id, clubId, priority: bulk }) as const);
  await wake(tx, 'transactionalMail', mails, now);
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
  const { priority } = mailTemplates[template];
  await tx.manager.insert(TransactionalMail, {
    id,
    template,
    addressKey,
    status: 'canceled',
    nextAttemptAt: now,
    createdAt: now,
    priority,
  });
  await wake(tx, 'transactionalMail', [{ id, clubId, priority }], now);
  await tx.manager.delete(Wake, { workflowId: workflowIdOf('transactionalMail', id) });
}

/**
 * Forgets a student's addresses, the former too: mails to them that were not sent are canceled at their next step, and no key of
 * an address is left, of requests for an account that was not there yet neither.
 */
export async function forgetAddressesOf(
  tx: Transaction,
  { studentId, addressKey }: { studentId: Id; addressKey: Buffer },
): Promise<void> {
  const mails = await tx.rows<{ key: Buffer }>(
    sql`SELECT DISTINCT address_key AS key FROM transactional_mails WHERE student_id = ${studentId}`,
  );
  const keys = [addressKey, ...mails.map(({ key }) => key)];
  await tx.run(sql`
    UPDATE transactional_mails SET sealed_address = NULL, address_key = ''
     WHERE student_id = ${studentId}
        OR address_key = ANY (${keys}::bytea[]) AND num_nonnulls(student_id, administrator_id, invitation_id) = 0`);
}

async function hadEnough(db: Queries, addressKey: Buffer, template: MailTemplate, now: Date): Promise<boolean> {
  return (await addressesWithEnough(db, [addressKey], template, now)).size > 0;
}

/** @returns those of the addresses that get no more mails of the template for now: their keys, in hexadecimal */
async function addressesWithEnough(
  db: Queries,
  addressKeys: readonly Buffer[],
  template: MailTemplate,
  now: Date,
): Promise<ReadonlySet<string>> {
  const rows = await db.rows<{ key: Buffer }>(sql`SELECT address_key AS key FROM transactional_mails
      WHERE address_key = ANY (${addressKeys}) AND template = ${template} AND created_at > ${new Date(now.getTime() - hourMs)}
      GROUP BY address_key HAVING count(*) >= ${mailsPerHour} AND max(created_at) > ${new Date(now.getTime() - oneMoreEveryMs)}`);
  return new Set(rows.map(({ key }) => key.toString('hex')));
}

function recipientColumn(recipient: Recipient): ['student_id' | 'administrator_id' | 'invitation_id', Id] {
  if ('studentId' in recipient) return ['student_id', recipient.studentId];
  if ('administratorId' in recipient) return ['administrator_id', recipient.administratorId];
  return ['invitation_id', recipient.invitationId];
}
