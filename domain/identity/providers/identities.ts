/** The identities of administrators: joins, lists and removes them. An account always keeps a way to sign in (OIDC-6, OIDC-9). */
import { accountErased } from '../accounts/credentials.ts';
import { AdministratorIdentity } from '../../../entities/identity/administrator-identity.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import { notFound } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../../platform/infra/postgres/sql.ts';
import type { VaultDeps } from '../../deps.ts';
import { tokenGone, withdrawTokensOf } from '../../mail/codes/one-time-tokens.ts';
import { requestMail } from '../../mail/transactional/requests.ts';
import { endOtherSessions, endSessionsOfProvider } from '../sessions/sessions.ts';
import type { ProviderDeps, SignInProviders } from './deps.ts';
import { closeJoin, lockJoin, type OpenJoin } from './joins.ts';
import { identityLimitReached, lastSignInMethod } from './refusals.ts';

type Identity = RecordOf<'Identity'>;

export const identitiesPerAccount = 20;

/** The kinds of mail about an identity of an account. */
type IdentityMail =
  | 'administrator_identity_joined'
  | 'administrator_identity_removed'
  | 'administrator_password_changed';

interface LockedAccount {
  email: string;
  hasPassword: boolean;
  hasPasskey: boolean;
}

/** Locks the account, so that two removals at the same time cannot both leave the other one as the last way to sign in. */
async function lockAccount(tx: Transaction, administratorId: Id): Promise<LockedAccount> {
  const account = await tx.one<LockedAccount>(sql`
    SELECT email, password_hash IS NOT NULL AS "hasPassword",
           EXISTS (SELECT FROM second_factors factor
                    WHERE factor.administrator_id = administrators.id AND factor.kind = 'passkey'
                      AND factor.confirmed_at IS NOT NULL) AS "hasPasskey"
      FROM administrators WHERE id = ${administratorId} AND removed_at IS NULL FOR UPDATE`);
  if (!account) throw accountErased();
  return account;
}

/**
 * Joins the identity of an open join to an account that the caller has proved, closes the join, and informs the owner by mail.
 * @returns undefined if the identity was joined to an account meanwhile
 * @throws DomainError identity_limit_reached
 */
export async function joinToAccount(
  tx: Transaction,
  vault: Vault,
  administratorId: Id,
  join: OpenJoin,
  now: Date,
): Promise<Id | undefined> {
  const { email } = await lockAccount(tx, administratorId);
  const counted = await tx.one<{ count: number }>(
    sql`SELECT count(*)::int AS count FROM administrator_identities WHERE administrator_id = ${administratorId}`,
  );
  if ((counted?.count ?? 0) >= identitiesPerAccount) throw identityLimitReached();
  const identity = await tx.one<{ id: Id }>(sql`
    INSERT INTO administrator_identities (id, administrator_id, provider_id, club_provider_id, subject, email, created_at, last_used_at)
    VALUES (${newId()}, ${administratorId}, ${join.providerId}, ${join.clubProviderId}, ${join.subject}, ${join.email}, ${now}, ${now})
    ON CONFLICT (provider_id, subject) DO NOTHING RETURNING id`);
  await closeJoin(tx, join);
  if (identity) await mailOwner(tx, vault, 'administrator_identity_joined', { administratorId, email }, now);
  return identity?.id;
}

async function mailOwner(
  tx: Transaction,
  vault: Vault,
  template: IdentityMail,
  { administratorId, email }: { administratorId: Id; email: string },
  now: Date,
): Promise<void> {
  await requestMail(tx, vault, { template, clubId: null, recipient: { administratorId }, email }, now);
}

/** Joins an identity to the account of a session. @throws DomainError token_gone, identity_limit_reached */
export async function addIdentity(
  { db, vault, providers }: ProviderDeps,
  administratorId: Id,
  joinToken: string,
  now: Date,
): Promise<Identity> {
  return db.transaction(async (tx) => {
    const join = await lockJoin(tx, providers, joinToken, now);
    const id = join && (await joinToAccount(tx, vault, administratorId, join, now));
    const identity = (await listIdentities({ db: tx, providers }, administratorId)).find((one) => one.id === id);
    if (!identity) throw tokenGone();
    return identity;
  });
}

/** @returns the identities of an account, the oldest first */
export async function listIdentities(
  { db, providers }: { db: Queries; providers: SignInProviders },
  administratorId: Id,
): Promise<Identity[]> {
  const rows = await db.rows<
    Pick<AdministratorIdentity, 'id' | 'providerId' | 'email' | 'createdAt' | 'lastUsedAt'> & {
      clubId: Id | null;
      providerName: string | null;
    }
  >(sql`
    SELECT ${columns(AdministratorIdentity, ['id', 'providerId', 'email', 'createdAt', 'lastUsedAt'], 'identity')},
           provider.club_id AS "clubId", provider.name AS "providerName"
      FROM administrator_identities identity LEFT JOIN identity_providers provider ON provider.id = identity.club_provider_id
     WHERE identity.administrator_id = ${administratorId} ORDER BY identity.id`);
  return rows.map(({ id, providerId, email, createdAt, lastUsedAt, clubId, providerName }) => {
    const name = providerName ?? providers.ofDeployment.find((one) => one.id === providerId)?.name;
    return {
      id,
      provider_id: providerId,
      ...(name !== undefined && { provider_name: name }),
      ...(clubId !== null && { club_id: clubId }),
      ...(email !== null && { email }),
      created_at: createdAt.toISOString(),
      last_used_at: lastUsedAt.toISOString(),
    };
  });
}

/**
 * Removes an identity, and ends the sessions that its provider opened for the account.
 * @throws DomainError not_found; last_sign_in_method
 */
export async function removeIdentity(
  { db, vault }: VaultDeps,
  administratorId: Id,
  identityId: Id,
  now: Date,
): Promise<void> {
  await db.transaction(async (tx) => {
    const account = await lockAccount(tx, administratorId);
    const identities = await tx.rows<Pick<AdministratorIdentity, 'id' | 'providerId'>>(
      sql`SELECT ${columns(AdministratorIdentity, ['id', 'providerId'])} FROM administrator_identities WHERE administrator_id = ${administratorId}`,
    );
    const identity = identities.find(({ id }) => id === identityId.toLowerCase());
    if (!identity) throw notFound('identity');
    if (!account.hasPassword && !account.hasPasskey && identities.length === 1)
      throw lastSignInMethod('This identity is the last way to sign in. Set a password first.');
    await tx.manager.delete(AdministratorIdentity, { id: identity.id });
    await endSessionsOfProvider(tx, identity.providerId, administratorId);
    await mailOwner(tx, vault, 'administrator_identity_removed', { administratorId, email: account.email }, now);
  });
}

/**
 * Removes the password of an account, ends its other sessions and mailed tokens, and informs the owner by mail. The provider of a club is no
 * other way to sign in, because the club may remove it.
 * @param sessionToken the token of the session that stays
 * @throws DomainError last_sign_in_method
 */
export async function removePassword(
  { db, vault }: VaultDeps,
  administratorId: Id,
  sessionToken: string,
  now: Date,
): Promise<void> {
  await db.transaction(async (tx) => {
    const account = await lockAccount(tx, administratorId);
    const other = await tx.one(
      sql`SELECT 1 FROM administrator_identities WHERE administrator_id = ${administratorId} AND club_provider_id IS NULL LIMIT 1`,
    );
    if (!other && !account.hasPasskey)
      throw lastSignInMethod('The password is the last way to sign in. Join an identity or add a passkey first.');
    await tx.run(sql`UPDATE administrators SET password_hash = NULL WHERE id = ${administratorId}`);
    await withdrawTokensOf(tx, { administratorId });
    await endOtherSessions(tx, 'admin', administratorId, sessionToken);
    await mailOwner(tx, vault, 'administrator_password_changed', { administratorId, email: account.email }, now);
  });
}
