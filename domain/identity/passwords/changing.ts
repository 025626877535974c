/** Changes the password of a signed-in person, who proves to know the present one (SES-7). */
import type { RecordOf } from '../../../contract/contract.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { raw, sql } from '../../../platform/infra/postgres/sql.ts';
import type { VaultDeps } from '../../deps.ts';
import { withdrawTokensOf } from '../../mail/codes/one-time-tokens.ts';
import { requestMail } from '../../mail/transactional/requests.ts';
import { readHasSecondFactor } from '../accounts/administrator-accounts.ts';
import { emailNotVerified, invalidCredentials } from '../accounts/credentials.ts';
import { endOtherSessions, type CallerKind } from '../sessions/sessions.ts';
import { freshFactorRequired, isFresh, type SignInProofs } from '../sessions/sign-in-rules.policy.ts';
import { findAdministratorAccount, findStudentAccount, type PasswordAccount } from './owners.ts';
import { requireStrongPassword } from './password-rules.ts';
import { hashPassword, passwordMatches } from './passwords.ts';

/** The person who changes the password, with the session of the request. */
export interface PasswordChanger {
  kind: CallerKind;
  id: Id;
  /** The token of the session that stays. */
  token: string;
  /** The proofs of an administrator's session. */
  proofs?: SignInProofs;
}

/**
 * Replaces the password. Ends all other sessions and all mailed tokens of the account, and mails a notice to its owner. A student without a
 * password may choose the first one, because an invitation or a code has proven the address. An administrator without a password, and one with
 * a second factor, needs a fresh proof (FAC-2).
 * @throws DomainError invalid_credentials (the present password is wrong, or is missing, or the account has none), fresh_factor_required,
 *   email_not_verified, weak_password
 */
export async function changePassword(
  { db, vault }: VaultDeps,
  changer: PasswordChanger,
  { current_password: current, new_password: password }: RecordOf<'PasswordChange'>,
  now: Date,
): Promise<void> {
  const account = await findAccount[changer.kind](db, changer.id);
  if (!account) throw new DomainError('unauthenticated', 'The account was removed meanwhile.');
  await requireProof(db, changer, account, current, now);
  requireStrongPassword(password, account);
  const passwordHash = await hashPassword(password);
  const { kind, id, token } = changer;
  await db.transaction(async (tx) => {
    // Comparing passwords takes time. If the password was changed meanwhile, the proof is no longer valid.
    const changedRows = await tx.run(sql`
      UPDATE ${raw(tableOf[kind])} SET password_hash = ${passwordHash}
       WHERE id = ${id} AND password_hash IS NOT DISTINCT FROM ${account.passwordHash} AND email = ${account.email}`);
    if (changedRows === 0) throw invalidCredentials();
    const owner = kind === 'student' ? { studentId: id } : { administratorId: id };
    await withdrawTokensOf(tx, owner);
    await endOtherSessions(tx, kind, id, token);
    const template = kind === 'student' ? 'student_password_changed' : 'administrator_password_changed';
    await requestMail(tx, vault, { template, clubId: account.clubId, recipient: owner, email: account.email }, now);
  });
}

const findAccount = { student: findStudentAccount, admin: findAdministratorAccount } as const satisfies Record<
  CallerKind,
  unknown
>;
const tableOf = { student: 'students', admin: 'administrators' } as const satisfies Record<CallerKind, string>;

/**
 * A session link proves no address, so an unconfirmed account cannot choose its first password (ENTRY-4).
 * @throws DomainError invalid_credentials, fresh_factor_required, email_not_verified
 */
async function requireProof(
  db: Queries,
  { id, proofs }: PasswordChanger,
  { passwordHash, isVerified }: PasswordAccount,
  current: string | undefined,
  now: Date,
): Promise<void> {
  const isFirst = passwordHash === null && current === undefined;
  if (isFirst && !isVerified) throw emailNotVerified();
  if (proofs) {
    const hasSecondFactor = await readHasSecondFactor(db, id);
    if ((isFirst || hasSecondFactor) && !isFresh(proofs, hasSecondFactor, now)) throw freshFactorRequired();
  }
  if (isFirst) return;
  if (!(await passwordMatches(current ?? '', passwordHash))) throw invalidCredentials();
}
