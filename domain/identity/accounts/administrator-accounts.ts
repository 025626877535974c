/** Lets administrators confirm their account, sign in and reset their password. */
import { Administrator } from '../../../entities/identity/administrator.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { StudentDeps, VaultDeps } from '../../deps.ts';
import { foldEmail } from '../../../platform/core/text/text.policy.ts';
import { requestMail, imitateRequest } from '../../mail/transactional/requests.ts';
import { confirmAddress } from './confirmation.ts';
import type { SessionOpener } from '../../../entities/identity/values.ts';
import type { DomainError } from '../../../platform/core/errors.ts';
import { signInFailed } from '../providers/refusals.ts';
import { emailNotVerified, invalidCredentials } from './credentials.ts';
import { spendToken, tokenGone, withdrawTokensOf } from '../../mail/codes/one-time-tokens.ts';
import { findAdministratorAccount } from '../passwords/owners.ts';
import { requireStrongPassword, requireUnknown } from '../passwords/password-rules.ts';
import { hashPassword, passwordMatches } from '../passwords/passwords.ts';
import { openChallenge, SecondFactorRequired, type Challenge } from '../factors/challenges.ts';
import { endSessionsOf, openSession, type Client, type SessionOrigin } from '../sessions/sessions.ts';
import { warnOfNewDevice } from '../sessions/new-devices.ts';
import { getProfile } from './profiles.ts';

type AdministratorSession = RecordOf<'AdministratorSession'>;

/**
 * Signs an administrator in. A person who has not confirmed the address yet, and signs in with the password of the last sign-up, gets
 * `email_not_verified`. The answer does not show whether the account existed before the sign-up.
 * @throws DomainError invalid_credentials; email_not_verified, second_factor_required only after a correct password
 */
export async function signInAdministrator(
  { db, storage, vault }: StudentDeps,
  input: { email: string; password: string },
  client: Client,
  now: Date,
): Promise<AdministratorSession> {
  const account = await findByPassword(db, input, now);
  const result = await db.transaction(async (tx) => {
    await requireUnchangedPassword(tx, account);
    return openAdministratorSession(tx, { storage, vault }, account.id, { openedBy: 'password', ...client }, now);
  });
  return sessionAfterFirstFactor(result);
}

/** An account whose password the caller knows. */
export interface ProvedAccount {
  id: Id;
  passwordHash: string;
}

/**
 * Finds the account of an e-mail and a password. It takes equal time whether or not there is one.
 * @throws DomainError invalid_credentials; email_not_verified only after the right password of an account that was never confirmed
 */
export async function findByPassword(
  db: Queries,
  { email, password }: { email: string; password: string },
  now: Date,
): Promise<ProvedAccount> {
  const account = await db.one<{
    id: Id;
    passwordHash: string | null;
    offered: string | null;
  }>(sql`SELECT administrator.id,
            CASE WHEN administrator.verified_at IS NOT NULL THEN administrator.password_hash END AS "passwordHash",
            coalesce(token.password_hash,
                     CASE WHEN administrator.verified_at IS NULL THEN administrator.password_hash END) AS offered
       FROM administrators administrator
       LEFT JOIN one_time_tokens token
         ON token.administrator_id = administrator.id AND token.purpose = 'administrator_sign_up_again'
        AND token.expires_at > ${now}
      WHERE administrator.email = ${foldEmail(email)}`);
  const isRight = await passwordMatches(password, account?.passwordHash ?? null);
  const isOffered = await passwordMatches(password, account?.offered ?? null);
  if (!account || account.passwordHash === null || !isRight)
    throw isOffered ? emailNotVerified() : invalidCredentials();
  return { id: account.id, passwordHash: account.passwordHash };
}

/**
 * Comparing passwords takes time. If the password was reset meanwhile, the sign-in fails.
 * @throws DomainError invalid_credentials
 */
export async function requireUnchangedPassword(tx: Transaction, { id, passwordHash }: ProvedAccount): Promise<void> {
  const unchanged = await tx.one(
    sql`SELECT 1 FROM administrators WHERE id = ${id} AND password_hash = ${passwordHash} FOR SHARE`,
  );
  if (!unchanged) throw invalidCredentials();
}

/** Confirms the administrator's address by the mailed token, and opens a session. @throws DomainError token_gone */
export async function verifyAdministratorEmail(
  { db, vault, storage }: StudentDeps,
  token: string,
  client: Client,
  now: Date,
): Promise<AdministratorSession> {
  const result = await db.transaction(async (tx) => {
    const { administratorId } = await spendToken(tx, ['administrator_verify_email'], token, now);
    if (administratorId === null) throw tokenGone();
    await confirmAddress(tx, 'administrator', administratorId, 'sign_up', now);
    return openAdministratorSession(tx, { storage, vault }, administratorId, { openedBy: 'mail', ...client }, now);
  });
  return sessionAfterFirstFactor(result);
}

/** Mails the confirmation link again, if the address is not confirmed yet. */
export async function resendAdministratorVerification(deps: VaultDeps, email: string, now: Date): Promise<void> {
  await mailIfKnown(deps, 'administrator_verify_email', email, now, (known) => !known.verified);
}

export async function requestAdministratorPasswordReset(deps: VaultDeps, email: string, now: Date): Promise<void> {
  await mailIfKnown(deps, 'administrator_reset_password', email, now, () => true);
}

/**
 * Sets a new password. Ends all other sign-in sessions, all pending sign-ins and all mailed tokens of the account.
 * @throws DomainError weak_password, token_gone; second_factor_required after the password was set
 */
export async function confirmAdministratorPasswordReset(
  { db, vault, storage }: StudentDeps,
  { token, password }: { token: string; password: string },
  client: Client,
  now: Date,
): Promise<AdministratorSession> {
  requireStrongPassword(password);
  const passwordHash = await hashPassword(password);
  const result = await db.transaction(async (tx) => {
    const { administratorId } = await spendToken(tx, ['administrator_reset_password'], token, now);
    if (administratorId === null) throw tokenGone();
    const owner = await findAdministratorAccount(tx, administratorId);
    if (!owner) throw tokenGone();
    requireUnknown(password, owner); // if the password is refused, the token stays valid
    await tx.run(
      sql`UPDATE administrators SET password_hash = ${passwordHash}, verified_at = coalesce(verified_at, ${now}) WHERE id = ${administratorId}`,
    );
    await withdrawTokensOf(tx, { administratorId });
    await endSessionsOf(tx, 'admin', administratorId);
    return openAdministratorSession(tx, { storage, vault }, administratorId, { openedBy: 'mail', ...client }, now);
  });
  return sessionAfterFirstFactor(result);
}

/** The error of each way to a session if the account was erased meanwhile. It is the error of a way that is not valid any more. */
const errorOfErased = {
  link: invalidCredentials,
  password: invalidCredentials,
  passkey: invalidCredentials,
  mail: tokenGone,
  provider: signInFailed,
} as const satisfies Record<SessionOpener, () => DomainError>;

export type FirstFactorResult = { session: AdministratorSession } | { challenge: Challenge };

/**
 * Opens a session after a right first factor. If the account has a second factor that the origin has not shown, this function creates a
 * challenge instead (FAC-3). Every way to a session of an administrator ends here. Pass the result to {@link sessionAfterFirstFactor} after
 * the commit, because a challenge is an answer that must be kept.
 */
export async function openAdministratorSession(
  tx: Transaction,
  { storage, vault }: Pick<StudentDeps, 'storage' | 'vault'>,
  administratorId: Id,
  origin: SessionOrigin,
  now: Date,
): Promise<FirstFactorResult> {
  // The lock lets no factor be added or removed before the commit.
  const account = await tx.one<Pick<Administrator, 'hasSecondFactor'>>(
    sql`SELECT ${columns(Administrator, ['hasSecondFactor'])} FROM administrators
         WHERE id = ${administratorId} AND removed_at IS NULL FOR SHARE`,
  );
  if (!account) throw errorOfErased[origin.openedBy]();
  if (account.hasSecondFactor && origin.withSecondFactor !== true)
    return { challenge: await openChallenge(tx, administratorId, origin, now) };
  await warnOfNewDevice(tx, vault, { kind: 'admin', id: administratorId }, origin, now);
  const { token, expiresAt } = await openSession(tx, 'admin', administratorId, now, origin);
  const administrator = await getProfile(tx, storage, administratorId, origin.provider?.clubId);
  return { session: { token, expires_at: expiresAt.toISOString(), administrator } };
}

/**
 * Call it after the commit.
 * @throws SecondFactorRequired with the challenge, if the account needs a second factor
 */
export function sessionAfterFirstFactor(result: FirstFactorResult): AdministratorSession {
  if ('challenge' in result) throw new SecondFactorRequired(result.challenge);
  return result.session;
}

/** @returns whether the account has a second factor; false if there is no such account */
export async function readHasSecondFactor(db: Queries, administratorId: Id): Promise<boolean> {
  const row = await db.one<Pick<Administrator, 'hasSecondFactor'>>(
    sql`SELECT ${columns(Administrator, ['hasSecondFactor'])} FROM administrators WHERE id = ${administratorId}`,
  );
  return row?.hasSecondFactor ?? false;
}

export interface KnownAdministrator {
  id: Id;
  verified: boolean;
  passwordHash: string | null;
}

export async function findAdministratorByEmail(
  tx: Transaction,
  foldedEmail: string,
): Promise<KnownAdministrator | undefined> {
  const account =
    await tx.one<KnownAdministrator>(sql`SELECT ${columns(Administrator, ['id', 'passwordHash'])}, verified_at IS NOT NULL AS verified
       FROM administrators WHERE email = ${foldedEmail} FOR UPDATE`);
  return account;
}

async function mailIfKnown(
  { db, vault }: VaultDeps,
  template: 'administrator_verify_email' | 'administrator_reset_password',
  email: string,
  now: Date,
  isRecipient: (known: KnownAdministrator) => boolean,
): Promise<void> {
  await db.transaction(async (tx) => {
    const account = await findAdministratorByEmail(tx, foldEmail(email));
    if (account && isRecipient(account)) {
      await requestMail(
        tx,
        vault,
        { template, clubId: null, recipient: { administratorId: account.id }, email: foldEmail(email) },
        now,
      );
    } else {
      await imitateRequest(tx, vault, { template, clubId: null, email: foldEmail(email) }, now);
    }
  });
}
