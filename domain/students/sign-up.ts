/** Signs up a student. The answer does not show whether the e-mail address has an account. */
import { grantFreeDeliveries } from '../access/enrollments/enrollments.ts';
import { claimedALink, claimLink, requireClaimableLink } from '../access/links/claims.ts';
import { requireRoom } from '../billing/allowances.ts';
import type { Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { addressKeyOf } from '../../platform/infra/keys/address-keys.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { plainName } from '../../platform/core/text/names.ts';
import type { VaultDeps } from '../deps.ts';
import { foldEmail } from '../../platform/core/text/text.policy.ts';
import { recordFact } from '../../platform/engine/facts.ts';
import { followAccess } from '../joining/joining.ts';
import type { OfferedLanguage } from '../language/languages.ts';
import { requestMail } from '../mail/transactional/requests.ts';
import { noteOffer, type Offer } from '../identity/accounts/confirmation.ts';
import { noteNetwork, requireFewPending } from '../identity/accounts/pending-sign-ups.ts';
import { requireStrongPassword } from '../identity/passwords/password-rules.ts';
import { hashPassword, passwordMatches } from '../identity/passwords/passwords.ts';
import { findStudentByEmail, type KnownStudent } from '../identity/accounts/student-accounts.ts';

export interface SignUp {
  name: string;
  email: string;
  password: string;
  registration_code?: string;
  /** The language of the student's browser, if the service offers it. */
  language?: OfferedLanguage | null;
  /** Absent if it is unknown. */
  network?: string;
}

/**
 * Signs a student up. The student gets the free deliveries and the deliveries of the registration link. If the address is already known,
 * the answer is the same, but the student gets no delivery of the link. The service sends a mail to a known address. The mail says that the
 * address is known, or asks again for the confirmation.
 * @param clubId the id of an existing club
 * @throws DomainError weak_password, not_found (no such registration code), registration_link_used_up; limit_reached if the plan has no
 * free seat; rate_limited if the club or the network has too many unconfirmed sign-ups. A sign-up with a valid code never gets rate_limited
 */
export async function signUpStudent(deps: VaultDeps, clubId: Id, input: SignUp, now: Date): Promise<void> {
  const name = plainName(input.name);
  const email = foldEmail(input.email);
  // The check runs before the e-mail is looked up, so that the answer does not show whether the e-mail is known.
  requireStrongPassword(input.password, { email, names: [name, await nameOfClub(deps.db, clubId)] });
  const before = await passwordOf(deps, clubId, email);
  const passwordHash = await hashPassword(input.password);
  const same = await passwordMatches(input.password, before);
  const isComplete = await deps.db.transaction(async (tx) => {
    // The check runs before the e-mail is looked up, so that an unusable code gets the same answer for all addresses.
    const code = input.registration_code;
    if (code !== undefined) await requireClaimableLink(tx, clubId, code, now);
    // The check runs before the e-mail is looked up. So a club without a free seat gives the same answer for known and unknown addresses.
    // The seat itself is used only when the address is confirmed.
    await requireRoom(tx, clubId, 'person');
    // A person with the code of a registration link is not a stranger. So the limits for strangers do not apply to this sign-up, and this
    // sign-up does not count for them.
    const source = { network: input.network, uncounted: claimedALink };
    if (code === undefined) await requireFewPending(tx, deps.vault, clubId, source, now);
    const created = await tx.one<{
      id: Id;
    }>(sql`INSERT INTO students (id, club_id, name, email, email_key, password_hash, language, opened_by, created_at)
       VALUES (${newId()}, ${clubId}, ${name}, ${email}, ${addressKeyOf(deps.vault, email)}, ${passwordHash}, ${input.language ?? null}, 'sign_up', ${now})
       ON CONFLICT (club_id, email) DO NOTHING RETURNING id`);
    if (created) {
      await recordFact(tx, { clubId, type: 'student.created', studentId: created.id, occurredAt: now });
      await followAccess(tx, { clubId, studentIds: [created.id] }, now);
      await grantFreeDeliveries(tx, clubId, created.id, now);
      if (code !== undefined) await claimLink(tx, clubId, created.id, code, now);
      else if (input.network !== undefined)
        await noteNetwork(tx, deps.vault, { clubId, studentId: created.id, network: input.network }, now);
      const recipient = { studentId: created.id };
      await requestMail(tx, deps.vault, { template: 'student_verify_email', clubId, recipient, email }, now);
      return true;
    }
    const student = await findStudentByEmail(tx, clubId, email);
    if (student?.passwordHash !== before) return false;
    await answerRepeatedSignUp(tx, deps, clubId, { ...student, email }, { passwordHash, same }, now);
    return true;
  });
  // The password changed after the comparison, for example because a form was sent twice. So it is compared again.
  if (!isComplete) await signUpStudent(deps, clubId, input, now);
}

/**
 * Answers a repeated sign-up. If the new password differs from the account's password, the account loses its password. The owner must then
 * choose a new password with a reset (ADR 5).
 */
async function answerRepeatedSignUp(
  tx: Transaction,
  { vault }: VaultDeps,
  clubId: Id,
  { id, verified, email }: KnownStudent & { email: string },
  offer: Offer,
  now: Date,
): Promise<void> {
  await noteOffer(tx, vault, 'student', id, offer, now);
  const template = verified ? 'student_already_registered' : 'student_verify_email';
  await requestMail(tx, vault, { template, clubId, recipient: { studentId: id }, email }, now);
}

async function nameOfClub(db: Queries, clubId: Id): Promise<string> {
  const club = await db.one<{ name: string }>(sql`SELECT name FROM clubs WHERE id = ${clubId}`);
  return club?.name ?? '';
}

async function passwordOf({ db }: VaultDeps, clubId: Id, foldedEmail: string): Promise<string | null> {
  const student = await db.one<{ passwordHash: string | null }>(
    sql`SELECT password_hash AS "passwordHash" FROM students WHERE club_id = ${clubId} AND email = ${foldedEmail}`,
  );
  return student?.passwordHash ?? null;
}
