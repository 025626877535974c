/** Signs administrators in at identity providers: the start, and the exchange of the code (OIDC-1, OIDC-2). */
import type { RecordOf } from '../../../contract/contract.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { isEmail } from '../../../platform/core/text/email.policy.ts';
import { foldEmail } from '../../../platform/core/text/text.policy.ts';
import { sameText } from '../../../platform/infra/keys/vault.ts';
import {
  ProviderBusy,
  ProviderFailed,
  type ProviderAnswer,
  type ProviderClaims,
} from '../../../platform/infra/openid/client.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { RefusalToPerson } from '../../language/refusal.ts';
import {
  openAdministratorSession,
  sessionAfterFirstFactor,
  type FirstFactorResult,
} from '../accounts/administrator-accounts.ts';
import type { Client, SessionOrigin } from '../sessions/sessions.ts';
import type { ProviderDeps } from './deps.ts';
import { isInDomains } from './email-domains.ts';
import { openJoin } from './joins.ts';
import { findProvider, lockUnchanged, type Provider, type ProviderName } from './provider.ts';
import { IdentityNotJoined, signInFailed } from './refusals.ts';
import { newSignIn, readSignInToken, signInToken, spendSignIn } from './sign-in-tokens.ts';

type AdministratorSession = RecordOf<'AdministratorSession'>;

/** In seconds: after this time a permit of the provider is free again. */
const retryAfterSeconds = 5;

/** Subjects are longer in no real provider (OpenID Connect Core, 2: 255 ASCII characters). */
const longestSubject = 255;
/** From the contract of addresses. */
const longestEmail = 254;

/**
 * @param name the provider, or the slug of its club
 * @param redirectUri one of the allowed addresses; the first of them if absent
 * @throws DomainError provider_sign_in_failed, if there is no such provider or it does not answer; invalid_request; busy
 */
export async function startSignIn(
  deps: ProviderDeps,
  name: ProviderName,
  redirectUri: string | undefined,
  now: Date,
): Promise<RecordOf<'ProviderSignIn'>> {
  const { providers, vault } = deps;
  const target = redirectUri ?? providers.redirectUris[0];
  if (!providers.redirectUris.includes(target))
    throw new DomainError('invalid_request', 'redirect_uri must be one of the addresses that the operator allows.');
  const provider = await findProvider(deps, name);
  if (!provider) throw signInFailed();
  const signIn = newSignIn(provider.id, target, now);
  const url = await atProvider(deps, provider, () => providers.openId.begin(provider, target, signIn.secrets));
  return { url, sign_in_token: signInToken(vault, signIn), expires_at: signIn.expiresAt.toISOString() };
}

/** A finished sign-in at a provider. */
export interface ProviderSession {
  session: AdministratorSession;
  /** Null for a provider of the deployment. */
  clubId: Id | null;
}

/**
 * Exchanges the code, and opens a session for the account of the identity.
 * @throws DomainError provider_sign_in_failed for every wrong, expired, used or foreign value; identity_not_joined; second_factor_required;
 * busy
 */
export async function exchangeCode(
  deps: ProviderDeps,
  { sign_in_token: token, ...answer }: ProviderAnswer & { sign_in_token: string },
  client: Client,
  now: Date,
): Promise<ProviderSession> {
  const { db, vault, providers } = deps;
  const signIn = readSignInToken(vault, token, now);
  if (!signIn || !sameText(signIn.secrets.state, answer.state)) throw signInFailed();
  // The token is used before the code is sent, so a second code cannot be tried with it.
  if (!(await spendSignIn(db, signIn))) throw signInFailed();
  const provider = await findProvider(deps, { providerId: signIn.providerId });
  if (!provider) throw signInFailed();
  const claims = await atProvider(deps, provider, () =>
    providers.openId.finish(provider, signIn.redirectUri, signIn.secrets, answer),
  );
  const usable = withUsableAddress(claims);
  requireUsable(deps, provider, usable);
  const result = await db.transaction((tx) => openSessionOf(tx, deps, provider, usable, client, now));
  if (result === undefined) throw signInFailed();
  if ('joinToken' in result) throw new IdentityNotJoined(result.joinToken);
  return { session: sessionAfterFirstFactor(result), clubId: provider.club?.id ?? null };
}

/** @returns the origin of a session that a provider opens */
export const originOf = (provider: { id: Id; clubId: Id | null }, client: Client): SessionOrigin => ({
  openedBy: 'provider',
  provider,
  ...client,
});

/** A provider may send any text. Only an address as the contract defines it can belong to an account, or get a mail. */
function withUsableAddress(claims: ProviderClaims): ProviderClaims {
  const isUsable = claims.email !== null && isEmail(foldEmail(claims.email));
  return isUsable ? claims : { ...claims, email: null, isEmailVerified: false };
}

/** @throws DomainError provider_sign_in_failed, if the club does not admit the person, or the claims exceed the bounds (OIDC-8) */
function requireUsable({ providers }: ProviderDeps, provider: Provider, claims: ProviderClaims): void {
  const { subject, email, isEmailVerified } = claims;
  const refuse = (code: string) => {
    providers.onFailure(provider.id, code);
    throw signInFailed();
  };
  if (subject.length > longestSubject || (email ?? '').length > longestEmail) refuse('CLAIM_TOO_LONG');
  if (subject.includes('\0')) refuse('CLAIM_MALFORMED'); // Postgres stores no such text
  if (provider.club === null) return;
  if (email === null || !isEmailVerified) refuse('EMAIL_NOT_VERIFIED');
  else if (!isInDomains(email, provider.club.emailDomains)) refuse('EMAIL_NOT_IN_DOMAINS');
}

async function openSessionOf(
  tx: Transaction,
  deps: ProviderDeps,
  provider: Provider,
  claims: ProviderClaims,
  client: Client,
  now: Date,
): Promise<FirstFactorResult | { joinToken: string } | undefined> {
  if (!(await lockUnchanged(tx, provider))) return undefined;
  const email = claims.email === null ? null : foldEmail(claims.email);
  const identity = await tx.one<{ administratorId: Id }>(sql`
    UPDATE administrator_identities SET last_used_at = ${now}, email = ${email}
     WHERE provider_id = ${provider.id} AND subject = ${claims.subject} RETURNING administrator_id AS "administratorId"`);
  if (!identity) return { joinToken: await openJoin(tx, provider, claims, now) };
  const origin = originOf({ id: provider.id, clubId: provider.club?.id ?? null }, client);
  return openAdministratorSession(tx, deps, identity.administratorId, origin, now);
}

/** Maps the errors of a provider to the one answer, and reports the reason to the operator. */
async function atProvider<T>({ providers }: ProviderDeps, { id }: Provider, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ProviderBusy) throw new RefusalToPerson('busy', 'refusal.busy', { retryAfterSeconds });
    if (!(error instanceof ProviderFailed)) throw error;
    providers.onFailure(id, error.code);
    throw signInFailed();
  }
}
