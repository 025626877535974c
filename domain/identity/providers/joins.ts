/**
 * Open joins: a person has signed in at a provider, and the identity is not joined to an account yet (OIDC-6). The provider's word is no
 * proof of an account, so the person proves it before the join.
 */
import { randomBytes } from 'node:crypto';
import { IdentityJoin } from '../../../entities/identity/identity-join.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { mayStandInMail } from '../../../platform/core/text/names.ts';
import { foldEmail, hasVisible, tidyName } from '../../../platform/core/text/text.policy.ts';
import type { ProviderClaims } from '../../../platform/infra/openid/client.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../../platform/infra/postgres/sql.ts';
import { sameText, sha256, type Vault } from '../../../platform/infra/keys/vault.ts';
import { tokenText } from '../../mail/codes/one-time-tokens.ts';
import type { SignInProviders } from './deps.ts';
import type { Provider } from './provider.ts';
import { isOpenClub } from '../../open-clubs.ts';

export const joinRules = {
  lifetimeMs: 15 * 60_000,
  /** Wrong codes. */
  tries: 5,
  /** Mails with a code. */
  codes: 3,
  /** Open joins of the provider of one club. A new one removes the oldest. */
  ofClubProvider: 200,
} as const;

const nameCharacters = 120;

/** An open join, locked for the rest of the transaction. */
export type OpenJoin = Pick<
  IdentityJoin,
  'id' | 'providerId' | 'clubProviderId' | 'subject' | 'email' | 'isEmailVerified' | 'name' | 'triesLeft' | 'codesLeft'
> & {
  /** The club of the provider. Null for a provider of the deployment. */
  clubId: Id | null;
};

/**
 * Opens a join. A person has at most one open join for each provider, so an earlier token and its codes end.
 * @returns the token. Only its hash is stored
 */
export async function openJoin(
  tx: Transaction,
  provider: Provider,
  claims: ProviderClaims,
  now: Date,
): Promise<string> {
  const token = randomBytes(32).toString('base64url');
  await tx.run(sql`DELETE FROM identity_joins WHERE provider_id = ${provider.id} AND subject = ${claims.subject}`);
  await tx.run(sql`
    INSERT INTO identity_joins (id, token_hash, provider_id, club_provider_id, subject, email, is_email_verified, name,
                                tries_left, codes_left, created_at, expires_at)
    VALUES (${newId()}, ${sha256(token)}, ${provider.id}, ${provider.club === null ? null : provider.id}, ${claims.subject},
            ${claims.email === null ? null : foldEmail(claims.email)}, ${claims.isEmailVerified}, ${usableName(claims.name)},
            ${joinRules.tries}, ${joinRules.codes}, ${now}, ${new Date(now.getTime() + joinRules.lifetimeMs)})
    ON CONFLICT (provider_id, subject) DO UPDATE
       SET id = excluded.id, token_hash = excluded.token_hash, email = excluded.email,
           is_email_verified = excluded.is_email_verified, name = excluded.name, tries_left = excluded.tries_left,
           codes_left = excluded.codes_left, created_at = excluded.created_at, expires_at = excluded.expires_at`);
  if (provider.club !== null)
    await tx.run(sql`DELETE FROM identity_joins WHERE id IN (
      SELECT id FROM identity_joins WHERE club_provider_id = ${provider.id}
       ORDER BY created_at DESC, id OFFSET ${joinRules.ofClubProvider} FOR UPDATE SKIP LOCKED)`);
  return token;
}

/** @returns the name for a new account; null if mails could not show it */
export function usableName(name: string | null): string | null {
  const tidy = Array.from(tidyName(name ?? ''))
    .slice(0, nameCharacters)
    .join('')
    .trim();
  return hasVisible(tidy) && mayStandInMail(tidy) && !/[<>]/.test(tidy) ? tidy : null;
}

/** Locks an open join by its token. @returns undefined if the token is unknown, used or expired, or if the provider does not exist any more */
export async function lockJoin(
  tx: Transaction,
  { ofDeployment }: Pick<SignInProviders, 'ofDeployment'>,
  token: string,
  now: Date,
): Promise<OpenJoin | undefined> {
  const join = await tx.one<OpenJoin>(sql`
    SELECT ${columns(IdentityJoin, ['id', 'providerId', 'clubProviderId', 'subject', 'email', 'isEmailVerified', 'name', 'triesLeft', 'codesLeft'], 'opened')},
           provider.club_id AS "clubId"
      FROM identity_joins opened LEFT JOIN identity_providers provider ON provider.id = opened.club_provider_id
     WHERE opened.token_hash = ${sha256(token)} AND opened.expires_at > ${now}
       AND (opened.club_provider_id IS NULL OR ${isOpenClub(sql`provider.club_id`)}) FOR UPDATE OF opened`);
  const isKnown = join?.clubProviderId !== null || ofDeployment.some(({ id }) => id === join.providerId);
  return isKnown ? join : undefined;
}

/**
 * Counts a try, and then compares the code with all mailed codes of the join. The caller commits after every result.
 * @returns whether the code is right
 */
export async function tryJoinCode(
  tx: Transaction,
  vault: Vault,
  join: OpenJoin,
  code: string,
  now: Date,
): Promise<boolean> {
  await tx.run(sql`UPDATE identity_joins SET tries_left = tries_left - 1 WHERE id = ${join.id}`);
  const codes = await tx.rows<{ id: Id; keyId: Buffer | null }>(sql`
    SELECT id, key_id AS "keyId" FROM one_time_tokens
     WHERE identity_join_id = ${join.id} AND purpose = 'administrator_identity_code' AND expires_at > ${now}`);
  const good = codes.filter(
    ({ id, keyId }) =>
      keyId !== null &&
      vault.has(keyId) &&
      sameText(plainCode(code), plainCode(tokenText(vault, 'administrator_identity_code', id, keyId))),
  );
  return join.triesLeft > 0 && good.length > 0;
}

/** Removes what people change when they type a code. */
const plainCode = (code: string) => code.toUpperCase().replaceAll(/[\s-]/g, '');

/** Ends a join. Its codes end with it. */
export async function closeJoin(tx: Transaction, { id }: Pick<OpenJoin, 'id'>): Promise<void> {
  await tx.manager.delete(IdentityJoin, { id });
}

/** Ends all open joins of a provider. */
export async function closeJoinsOf(tx: Transaction, providerId: Id): Promise<void> {
  await tx.manager.delete(IdentityJoin, { providerId });
}

const batchSize = 1_000;

/** Removes a batch of joins that expired an hour ago. A mail with a code may wait that long for its last attempt. */
export async function removeExpiredJoins(
  db: Queries,
  now: Date,
): Promise<{ rows: { identityJoins: number }; more: boolean }> {
  const before = new Date(now.getTime() - 3_600_000);
  const identityJoins = await db.run(sql`DELETE FROM identity_joins WHERE id IN (
    SELECT id FROM identity_joins WHERE expires_at <= ${before} ORDER BY expires_at LIMIT ${batchSize} FOR UPDATE SKIP LOCKED)`);
  return { rows: { identityJoins }, more: identityJoins >= batchSize };
}
