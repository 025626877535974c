/**
 * Lets students confirm their account, sign in with a password or a one-time code, and reset the password. No answer reveals whether an
 * e-mail address is known.
 */
import { Student } from '../../../entities/identity/student.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import { IsNull, Not } from 'typeorm';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import type { StudentDeps, VaultDeps } from '../../deps.ts';
import { foldEmail } from '../../../platform/core/text/text.policy.ts';
import { requestMail, imitateRequest } from '../../mail/transactional/requests.ts';
import type { MailTemplate } from '../../../entities/mail/values.ts';
import { confirmAddress } from './confirmation.ts';
import { emailNotVerified, invalidCredentials } from './credentials.ts';
import { unmailedRequestId } from '../../mail/codes/code-requests.ts';
import { spendCode, tryCode } from '../../mail/codes/codes.ts';
import { lockAccount, takeSeatOf } from './pending-sign-ups.ts';
import { ownerOfToken, spendToken, tokenGone, withdrawTokensOf } from '../../mail/codes/one-time-tokens.ts';
import { findStudentAccount } from '../passwords/owners.ts';
import { requireStrongPassword, requireUnknown } from '../passwords/password-rules.ts';
import { hashPassword, passwordMatches } from '../passwords/passwords.ts';
import { warnOfNewDevice } from '../sessions/new-devices.ts';
import { endSessionsOf, openSession, type Client, type SessionOrigin } from '../sessions/sessions.ts';
import { presentStudent } from '../student-identity.ts';
import { getStudent } from '../students.ts';
import { isOpenClub } from '../../open-clubs.ts';
import { RefusalToPerson } from '../../language/refusal.ts';
import { DomainError } from '../../../platform/core/errors.ts';

type StudentSession = RecordOf<'StudentSession'>;

/**
 * Signs a student in. A person who has not confirmed the address yet, and signs in with the password of the last sign-up, gets
 * `email_not_verified`. The answer does not show whether the account existed before the sign-up.
 * @throws DomainError invalid_credentials; email_not_verified only after a correct password
 */
export async function signInStudent(
  { db, vault, storage }: StudentDeps,
  { club_id: clubId, email, password }: { club_id: Id; email: string; password: string },
  client: Client,
  now: Date,
): Promise<StudentSession> {
  const student = await db.one<{
    id: Id;
    passwordHash: string | null;
    offered: string | null;
  }>(sql`SELECT student.id, CASE WHEN student.verified_at IS NOT NULL THEN student.password_hash END AS "passwordHash",
            coalesce(token.password_hash, CASE WHEN student.verified_at IS NULL THEN student.password_hash END) AS offered
       FROM students student
       LEFT JOIN one_time_tokens token
         ON token.student_id = student.id AND token.purpose = 'student_sign_up_again' AND token.expires_at > ${now}
      WHERE student.club_id = ${clubId} AND student.email = ${foldEmail(email)} AND ${isOpenClub(clubId)}`);
  const isRight = await passwordMatches(password, student?.passwordHash ?? null);
  const isOffered = await passwordMatches(password, student?.offered ?? null);
  if (!student || !isRight) throw isOffered ? emailNotVerified() : invalidCredentials();
  return db.transaction(async (tx) => {
    // Comparing passwords takes time. If the password was reset or the student was removed meanwhile, the sign-in fails.
    const unchanged = await tx.one(
      sql`SELECT 1 FROM students WHERE id = ${student.id} AND password_hash = ${student.passwordHash} AND verified_at IS NOT NULL FOR SHARE`,
    );
    if (!unchanged) throw invalidCredentials();
    await warnOfNewDevice(tx, vault, { kind: 'student', id: student.id }, client, now);
    return openStudentSession(tx, storage, student.id, { openedBy: 'password', ...client }, now);
  });
}

/**
 * Confirms the student's address by the mailed token, and opens a session.
 * @throws DomainError token_gone; limit_reached (the club has no free seat; the token stays valid)
 */
export async function verifyStudentEmail(
  { db, storage }: StudentDeps,
  token: string,
  client: Client,
  now: Date,
): Promise<StudentSession> {
  return db.transaction(async (tx) => {
    const purposes = ['student_verify_email', 'student_invitation'] as const;
    const locked = await lockToConfirm(tx, await ownerOfToken(tx, purposes, token, now));
    await spendToken(tx, purposes, token, now);
    await confirmAddress(tx, 'student', locked.account.id, 'sign_up', now);
    await takeSeatOf(tx, locked, now);
    return openStudentSession(tx, storage, locked.account.id, { openedBy: 'mail', ...client }, now);
  });
}

/**
 * Locks a student who has proven to own the address, and then the student's tokens. If the club's count of students does not include the
 * student yet, the function locks the count first.
 * @throws DomainError token_gone for a removed student; limit_reached
 */
async function lockToConfirm(tx: Transaction, studentId: Id) {
  const { account, seats } = await lockAccount(tx, sql`id = ${studentId}`, { addressee: 'person' });
  if (!account) throw tokenGone();
  return { account, seats };
}

/** Mails the confirmation link again, if the address is not confirmed yet. */
export async function resendStudentVerification(deps: VaultDeps, who: EmailInClub, now: Date): Promise<void> {
  await mailIfKnown(deps, 'student_verify_email', who, now, (student) => !student.verified);
}

export async function requestStudentPasswordReset(deps: VaultDeps, who: EmailInClub, now: Date): Promise<void> {
  await mailIfKnown(deps, 'student_reset_password', who, now);
}

/**
 * Mails a code.
 * @returns the id of this request, which the caller must send together with the code. The function returns such an id even if no code was
 * mailed
 */
export async function requestStudentCode(
  deps: VaultDeps,
  who: EmailInClub,
  now: Date,
): Promise<RecordOf<'CodeRequested'>['data']> {
  const codeId = await mailIfKnown(deps, 'student_code', who, now);
  const account = { clubId: who.club_id, email: foldEmail(who.email) };
  return { accepted: true, code_id: codeId ?? unmailedRequestId(deps.vault, account, now) };
}

/**
 * Sets a new password. Ends all other sign-in sessions and all mailed tokens of the account.
 * @throws DomainError weak_password, token_gone, limit_reached
 */
export async function confirmStudentPasswordReset(
  { db, storage }: StudentDeps,
  { token, password }: { token: string; password: string },
  client: Client,
  now: Date,
): Promise<StudentSession> {
  requireStrongPassword(password);
  const passwordHash = await hashPassword(password);
  return db.transaction(async (tx) => {
    const purposes = ['student_reset_password'] as const;
    const locked = await lockToConfirm(tx, await ownerOfToken(tx, purposes, token, now));
    await spendToken(tx, purposes, token, now);
    const studentId = locked.account.id;
    const owner = await findStudentAccount(tx, studentId);
    if (!owner) throw tokenGone();
    requireUnknown(password, owner); // if the password is refused, the token stays valid
    await takeSeatOf(tx, locked, now);
    // Only the owner of the address can read this mail, so the address counts as confirmed.
    await tx.run(
      sql`UPDATE students SET password_hash = ${passwordHash}, verified_at = coalesce(verified_at, ${now}) WHERE id = ${studentId}`,
    );
    await withdrawTokensOf(tx, { studentId });
    await endSessionsOf(tx, 'student', studentId);
    return openStudentSession(tx, storage, studentId, { openedBy: 'mail', ...client }, now);
  });
}

/**
 * Exchanges a one-time code for a session. A separate transaction records and commits each try, so that two concurrent guesses count as two
 * tries.
 * @param input.network the network from which the request came
 * @throws DomainError token_gone, with the same answer for a wrong, used or expired code, for a code of another request and for an unknown
 * e-mail address; limit_reached
 */
export async function exchangeStudentCode(
  { db, vault, storage }: StudentDeps,
  input: EmailInClub & { code_id: Id; code: string; network?: string },
  client: Client,
  now: Date,
): Promise<StudentSession> {
  const { club_id: clubId, code_id: codeId, code, network } = input;
  const guess = { clubId, email: foldEmail(input.email), codeId, code, ...(network !== undefined && { network }) };
  const match = await db.transaction((tx) => tryCode(tx, vault, guess, now));
  if (match === undefined) throw tokenGone();
  return db.transaction(async (tx) => {
    const locked = await lockToConfirm(tx, match.studentId);
    if (!(await spendCode(tx, vault, guess, match))) throw tokenGone();
    await confirmAddress(tx, 'student', match.studentId, 'other', now);
    await takeSeatOf(tx, locked, now);
    await warnOfNewDevice(tx, vault, { kind: 'student', id: match.studentId }, client, now);
    return openStudentSession(tx, storage, match.studentId, { openedBy: 'mail', ...client }, now);
  });
}

/**
 * Sets the first password of an invited student, or of a student who lost the password of the sign-up. The address must be confirmed: a
 * session link opens a session without this proof, and the password would otherwise stay when the owner of the address confirms it (ENTRY-4).
 * @throws DomainError weak_password, password_exists, email_not_verified
 */
export async function setStudentPassword(
  { db, storage }: StudentDeps,
  studentId: Id,
  password: string,
): Promise<RecordOf<'Student'>> {
  const owner = await findStudentAccount(db, studentId);
  if (!owner) throw new DomainError('unauthenticated', 'The account was removed meanwhile.');
  if (!owner.isVerified) throw emailNotVerified();
  requireStrongPassword(password, owner);
  const passwordHash = await hashPassword(password);
  return db.transaction(async (tx) => {
    const { affected } = await tx.manager.update(
      Student,
      { id: studentId, passwordHash: IsNull(), removedAt: IsNull(), verifiedAt: Not(IsNull()) },
      { passwordHash },
    );
    if (affected === 0) throw new RefusalToPerson('password_exists', 'refusal.password_exists');
    return presentStudent(await getStudent(tx, studentId), storage);
  });
}

export interface EmailInClub {
  club_id: Id;
  email: string;
}

export interface KnownStudent {
  id: Id;
  verified: boolean;
  passwordHash: string | null;
}

export async function findStudentByEmail(
  tx: Transaction,
  clubId: Id,
  foldedEmail: string,
): Promise<KnownStudent | undefined> {
  const student =
    await tx.one<KnownStudent>(sql`SELECT ${columns(Student, ['id', 'passwordHash'])}, verified_at IS NOT NULL AS verified
       FROM students WHERE club_id = ${clubId} AND email = ${foldedEmail} AND ${isOpenClub(clubId)} FOR UPDATE`);
  return student;
}

/** @returns the id of the mailed token, or null if no mail was sent */
async function mailIfKnown(
  { db, vault }: VaultDeps,
  template: MailTemplate,
  { club_id: clubId, email }: EmailInClub,
  now: Date,
  isRecipient: (student: KnownStudent) => boolean = () => true,
): Promise<Id | null> {
  return db.transaction(async (tx) => {
    const address = foldEmail(email);
    const student = await findStudentByEmail(tx, clubId, address);
    if (student && isRecipient(student)) {
      const recipient = { studentId: student.id };
      return requestMail(tx, vault, { template, clubId, recipient, email: address }, now);
    }
    await imitateRequest(tx, vault, { template, clubId, email: address }, now);
    return null;
  });
}

/** Opens a session. The caller has locked the student. @returns its record, with the token */
export async function openStudentSession(
  tx: Transaction,
  storage: ObjectStore,
  studentId: Id,
  origin: SessionOrigin,
  now: Date,
): Promise<StudentSession> {
  const { token, expiresAt } = await openSession(tx, 'student', studentId, now, origin);
  const student = await getStudent(tx, studentId);
  return { token, expires_at: expiresAt.toISOString(), student: await presentStudent(student, storage) };
}
