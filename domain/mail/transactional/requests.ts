/**
 * Requests transactional mails. A request inserts the mail's row and wakes the mail's run, in the transaction of the action that causes the
 * mail.
 */
import { Wake } from '../../../entities/facts/wake.ts';
import { addressKeyOf } from '../../../platform/infra/keys/address-keys.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import { wake } from '../../../platform/engine/wakes.ts';
import { workflowIdOf } from '../../../platform/engine/workflow-types.ts';
import { issueToken, issueTokens } from '../codes/one-time-tokens.ts';
import { bulk, type Priority } from '../../../entities/facts/values.ts';
import type { MailTemplate } from '../../../entities/mail/values.ts';
import { hadEnoughRequests, withheldAddresses } from './request-bounds.ts';
import { isOpenClub } from '../../open-clubs.ts';
import { mailTemplates, type Template } from '../texts/templates.ts';

/** A join of an identity has no row for its recipient: its mail goes to the address of the request. */
export type Recipient = { studentId: Id } | { administratorId: Id } | { invitationId: Id } | { identityJoinId: Id };

/** The time at which a session was planned before it moved to a different mentor. */
export interface FormerTime {
  startsAt: Date;
  endsAt: Date;
}

export interface MailRequest {
  template: MailTemplate;
  clubId: Id | null;
  recipient: Recipient;
  /**
   * The recipient's case-folded address. The limits count all mails to this address, no matter for which account or invitation. When the
   * mail is sent, it goes to the current address of the account. Only a mail to a former address goes to the address that is stored here.
   */
  email: string;
  endpointId?: Id;
  /** One mail is sent for each review. */
  reviewId?: Id;
  /** Each template is mailed once for each start time of the session. */
  session?: { id: Id; sequence: number; former?: FormerTime };
  /** The device and the network of a sign-in; null if they are unknown. They are deleted after the mail was sent. */
  signIn?: { device: string | null; network: string | null };
  /** The priority of the mail; if absent, the priority of the template is used. */
  priority?: Priority;
}

interface Requested {
  /** The id of the token in the mail; null if the mail has no token, or if no mail is sent. */
  tokenId: Id | null;
  /** Null if the mail is sent now. */
  withheldUntil: Date | null;
}

/**
 * Issues the template's token, if it has one, and requests the mail. If the address has reached its limit (DEC-141), no mail is sent, and
 * the caller gets no error. The answer must not show whether an account exists.
 * @returns the id of the token; null if the template has no token, or if no mail is sent
 */
export async function requestMail(tx: Transaction, vault: Vault, request: MailRequest, now: Date): Promise<Id | null> {
  return (await requestOrWithhold(tx, vault, request, now)).tokenId;
}

/**
 * Does the same as {@link requestMail}, but for a mail that the club sends on its own initiative. If the daily limit is reached, the mail
 * waits and is sent later.
 * @returns the time until which the mail waits; null if it is sent now
 */
export async function requestInvitation(
  tx: Transaction,
  vault: Vault,
  request: MailRequest,
  now: Date,
): Promise<Date | null> {
  return (await requestOrWithhold(tx, vault, request, now)).withheldUntil;
}

async function requestOrWithhold(tx: Transaction, vault: Vault, request: MailRequest, now: Date): Promise<Requested> {
  const { template, clubId, recipient } = request;
  const addressKey = addressKeyOf(vault, request.email);
  const rule: Template = mailTemplates[template];
  const withheld = rule.uncapped ? new Map<string, Date>() : await withheldAddresses(tx, request, [addressKey], now);
  const withheldUntil = withheld.get(addressKey.toString('hex')) ?? null;
  if (withheldUntil !== null && !rule.paced) return { tokenId: null, withheldUntil };

  const tokenId =
    rule.purpose === undefined ? null : await issueToken(tx, vault, { purpose: rule.purpose, owner: recipient }, now);
  const { studentId, administratorId, invitationId } = recipientColumns(recipient);
  const id = newId();
  const priority = request.priority ?? rule.priority;
  const sealedAddress = rule.toFormerAddress || rule.toGivenAddress ? vault.seal(request.email, id) : null;
  const insertedRows = await tx.rows(sql`INSERT INTO transactional_mails
       (id, club_id, template, student_id, administrator_id, invitation_id, token_id, address_key, sealed_address, endpoint_id, review_id, session_id, session_sequence, former_starts_at, former_ends_at, device, network, status, next_attempt_at, created_at, priority)
     VALUES (${id}, ${clubId}, ${template}, ${studentId}, ${administratorId}, ${invitationId}, ${tokenId}, ${addressKey}, ${sealedAddress}, ${request.endpointId ?? null},
       ${request.reviewId ?? null}, ${request.session?.id ?? null}, ${request.session?.sequence ?? null}, ${request.session?.former?.startsAt ?? null},
       ${request.session?.former?.endsAt ?? null}, ${request.signIn?.device ?? null}, ${request.signIn?.network ?? null}, 'pending', ${withheldUntil ?? now}, ${now}, ${priority})
     ON CONFLICT (session_id, template, session_sequence) DO NOTHING RETURNING 1`);
  if (insertedRows.length > 0) await wake(tx, 'transactionalMail', [{ id, clubId, priority }], now);
  return { tokenId, withheldUntil };
}

/**
 * Invites many students of a club, as bulk mail. The number of statements does not grow with the students, because other transactions wait
 * for the caller's locks.
 * @param students the students with their case-folded addresses, without duplicates
 */
export async function requestInvitations(
  tx: Transaction,
  vault: Vault,
  clubId: Id,
  students: readonly { studentId: Id; email: string }[],
  now: Date,
): Promise<void> {
  if (students.length === 0) return;
  const template = 'student_invitation';
  const addressed = students.map((student) => ({ ...student, key: addressKeyOf(vault, student.email) }));
  const keys = addressed.map(({ key }) => key);
  const withheld = await withheldAddresses(tx, { clubId, template }, keys, now);
  const dueTimes = keys.map((key) => withheld.get(key.toString('hex')) ?? now);
  const studentIds = addressed.map(({ studentId }) => studentId);
  const tokenIds = await issueTokens(tx, vault, mailTemplates[template].purpose, studentIds, now);
  const ids = addressed.map(() => newId());
  await tx.run(sql`INSERT INTO transactional_mails
       (id, club_id, template, student_id, token_id, address_key, status, next_attempt_at, created_at, priority)
     SELECT id, ${clubId}, ${template}, student_id, token_id, address_key, 'pending', due_at, ${now}, ${bulk}
       FROM unnest(${ids}::uuid[], ${studentIds}::uuid[], ${tokenIds}::uuid[], ${keys}::bytea[], ${dueTimes}::timestamptz[])
         AS requested (id, student_id, token_id, address_key, due_at)`);
  const mails = ids.map((id) => ({ id, clubId, priority: bulk }) as const);
  await wake(tx, 'transactionalMail', mails, now);
}

/**
 * Imitates a request for a mail to an address without an account. The function runs the same statements, but sends no mail, so the response
 * time does not show whether an account exists. For an unknown club the function writes nothing.
 */
export async function imitateRequest(
  tx: Transaction,
  vault: Vault,
  { template, clubId, email }: Omit<MailRequest, 'recipient'>,
  now: Date,
): Promise<void> {
  const addressKey = addressKeyOf(vault, email);
  if (await hadEnoughRequests(tx, { clubId, template }, addressKey, now)) return;
  const id = newId();
  const { priority } = mailTemplates[template];
  const written = await tx.one(sql`
    INSERT INTO transactional_mails (id, club_id, template, address_key, status, next_attempt_at, created_at, priority)
    SELECT ${id}, ${clubId}::uuid, ${template}, ${addressKey}, 'canceled', ${now}, ${now}, ${priority}
     WHERE ${clubId}::uuid IS NULL OR ${isOpenClub(sql`${clubId}::uuid`)} RETURNING 1`);
  if (!written) return;
  await wake(tx, 'transactionalMail', [{ id, clubId, priority }], now);
  await tx.manager.delete(Wake, { workflowId: workflowIdOf('transactionalMail', id) });
}

/**
 * Deletes a student's current and former addresses from the club's mails, and all keys of these addresses. This includes the keys in mails
 * that were requested before the account existed. If a mail to one of these addresses is not sent yet, the next step of that mail cancels
 * it. Mails of other clubs keep their keys, because the limits of those clubs count the mails by key.
 */
export async function deleteAddressesOf(
  tx: Transaction,
  { clubId, studentId, addressKey }: { clubId: Id; studentId: Id; addressKey: Buffer },
): Promise<void> {
  const mails = await tx.rows<{ key: Buffer }>(
    sql`SELECT DISTINCT address_key AS key FROM transactional_mails WHERE student_id = ${studentId}`,
  );
  const keys = [addressKey, ...mails.map(({ key }) => key)];
  await tx.run(sql`
    UPDATE transactional_mails SET sealed_address = NULL, address_key = '', device = NULL, network = NULL
     WHERE student_id = ${studentId}
        OR address_key = ANY (${keys}::bytea[]) AND num_nonnulls(student_id, administrator_id, invitation_id) = 0
           AND (club_id = ${clubId} OR club_id IS NULL)`);
}

function recipientColumns(recipient: Recipient): Record<'studentId' | 'administratorId' | 'invitationId', Id | null> {
  return { studentId: null, administratorId: null, invitationId: null, ...recipient };
}
