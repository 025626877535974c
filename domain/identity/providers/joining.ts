/** Joins an identity to an account without a session: the person proves the account by its password or by a mailed code (OIDC-6). */
import type { RecordOf } from '../../../contract/contract.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { StaleRead, type Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { requestMail } from '../../mail/transactional/requests.ts';
import {
  findAdministratorByEmail,
  findByPassword,
  openAdministratorSession,
  readHasSecondFactor,
  requireUnchangedPassword,
  sessionAfterFirstFactor,
  type FirstFactorResult,
} from '../accounts/administrator-accounts.ts';
import { confirmAddress } from '../accounts/confirmation.ts';
import type { Client } from '../sessions/sessions.ts';
import type { ProviderDeps } from './deps.ts';
import { joinToAccount } from './identities.ts';
import { lockJoin, tryJoinCode, usableName, type OpenJoin } from './joins.ts';
import { signInFailed } from './refusals.ts';
import { originOf, type ProviderSession } from './sign-in.ts';

type Joined = { result: FirstFactorResult; clubId: Id | null };

/**
 * Mails a code to the address of the identity. The statements do not depend on whether the address has an account.
 * @throws DomainError provider_sign_in_failed, if the token is unknown, used or expired; invalid_request, if the provider has not verified
 * the address
 */
export async function requestJoinCode(
  { db, vault, providers }: ProviderDeps,
  joinToken: string,
  now: Date,
): Promise<void> {
  const email = await db.transaction(async (tx) => {
    const join = await lockJoin(tx, providers, joinToken, now);
    if (!join) throw signInFailed();
    if (join.email === null || !join.isEmailVerified) return null;
    if (join.codesLeft > 0) {
      await tx.run(sql`UPDATE identity_joins SET codes_left = codes_left - 1 WHERE id = ${join.id}`);
      const template = 'administrator_identity_code';
      const recipient = { identityJoinId: join.id };
      await requestMail(tx, vault, { template, clubId: null, recipient, email: join.email }, now);
    }
    return join.email;
  });
  if (email === null)
    throw new DomainError(
      'invalid_request',
      'join_token: the provider has not verified the e-mail of this identity. Prove the account by its password.',
    );
}

/**
 * Joins by the password. If the account has a second factor, the answer is its challenge, and the join stays open: the session that the
 * factor opens then adds the identity.
 * @throws DomainError provider_sign_in_failed, invalid_credentials, email_not_verified, second_factor_required, identity_limit_reached
 */
export async function joinByPassword(
  deps: ProviderDeps,
  { joinToken, ...credentials }: { joinToken: string; email: string; password: string },
  client: Client,
  now: Date,
): Promise<ProviderSession> {
  const { db, providers } = deps;
  const account = await findByPassword(db, credentials, now);
  const joined = await db.transaction(async (tx): Promise<Joined | undefined> => {
    const join = await lockJoin(tx, providers, joinToken, now);
    if (!join) return undefined;
    await requireUnchangedPassword(tx, account);
    if (await readHasSecondFactor(tx, account.id))
      return waitingForFactor(tx, deps, account.id, 'password', client, now);
    return joinAndOpen(tx, deps, account.id, join, client, now);
  });
  return sessionOf(joined);
}

/**
 * Joins by a mailed code. If the address has no account, a new account without a password is opened.
 * @throws DomainError provider_sign_in_failed, also for a wrong code; second_factor_required, identity_limit_reached
 */
export async function joinByCode(
  deps: ProviderDeps,
  { joinToken, code }: { joinToken: string; code: string },
  client: Client,
  now: Date,
): Promise<ProviderSession> {
  const { db, vault, providers } = deps;
  const joined = await db.transaction(async (tx): Promise<Joined | undefined> => {
    const join = await lockJoin(tx, providers, joinToken, now);
    // A wrong code is counted, so this transaction commits.
    if (!join || !(await tryJoinCode(tx, vault, join, code, now)) || join.email === null) return undefined;
    const administratorId = await accountOfAddress(tx, join.email, join.name, now);
    if (await readHasSecondFactor(tx, administratorId))
      return waitingForFactor(tx, deps, administratorId, 'mail', client, now);
    return joinAndOpen(tx, deps, administratorId, join, client, now);
  });
  return sessionOf(joined);
}

async function waitingForFactor(
  tx: Transaction,
  deps: ProviderDeps,
  administratorId: Id,
  openedBy: 'password' | 'mail',
  client: Client,
  now: Date,
): Promise<Joined> {
  return {
    result: await openAdministratorSession(tx, deps, administratorId, { openedBy, ...client }, now),
    clubId: null,
  };
}

async function joinAndOpen(
  tx: Transaction,
  deps: ProviderDeps,
  administratorId: Id,
  join: OpenJoin,
  client: Client,
  now: Date,
): Promise<Joined | undefined> {
  const { clubId } = join;
  if ((await joinToAccount(tx, deps.vault, administratorId, join, now)) === undefined) return undefined;
  const origin = originOf({ id: join.providerId, clubId }, client);
  return { result: await openAdministratorSession(tx, deps, administratorId, origin, now), clubId };
}

function sessionOf(joined: Joined | undefined): ProviderSession {
  if (!joined) throw signInFailed();
  return { session: sessionAfterFirstFactor(joined.result), clubId: joined.clubId };
}

/**
 * Returns the account of an address that its owner has just proved. An account that was never confirmed may be a stranger's, so it loses its
 * password and its name.
 */
async function accountOfAddress(tx: Transaction, email: string, name: string | null, now: Date): Promise<Id> {
  // A local part such as `www.example.com` would be a web address in mails.
  const localPart = email.slice(0, email.indexOf('@')).replaceAll('.', ' ');
  const shownName = name ?? usableName(localPart) ?? email.slice(0, 1);
  const account = await findAdministratorByEmail(tx, email);
  if (account) {
    if (account.verified) return account.id;
    await confirmAddress(tx, 'administrator', account.id, 'other', now);
    await tx.run(sql`UPDATE administrators SET name = ${shownName} WHERE id = ${account.id}`);
    return account.id;
  }
  const opened = await tx.one<{ id: Id }>(sql`
    INSERT INTO administrators (id, name, email, verified_at, created_at)
    VALUES (${newId()}, ${shownName}, ${email}, ${now}, ${now}) ON CONFLICT (email) DO NOTHING RETURNING id`);
  if (!opened) throw new StaleRead();
  return opened.id;
}

/** Exactly one proof. @throws DomainError invalid_request */
export function proofIn({
  email,
  password,
  code,
}: RecordOf<'IdentityJoining'>): { email: string; password: string } | { code: string } {
  if (code !== undefined && email === undefined && password === undefined) return { code };
  if (code === undefined && email !== undefined && password !== undefined) return { email, password };
  throw new DomainError('invalid_request', 'Send either email and password, or code.');
}
