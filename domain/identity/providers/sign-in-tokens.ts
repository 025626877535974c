/**
 * The token of a started sign-in. The browser keeps it, so a stranger cannot finish the sign-in (OIDC-2). It contains the secrets of the
 * sign-in, sealed. The service stores nothing at the start, so starts cannot fill a table.
 */
import { randomBytes } from 'node:crypto';
import { newId, type Id } from '../../../platform/core/ids.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import type { SignInSecrets } from '../../../platform/infra/openid/client.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';

/** In milliseconds. */
export const signInLifetimeMs = 10 * 60_000;

export interface StartedSignIn {
  id: Id;
  providerId: Id;
  redirectUri: string;
  secrets: SignInSecrets;
  expiresAt: Date;
}

const context = 'sign-in at an identity provider';
const randomText = () => randomBytes(32).toString('base64url');

export function newSignIn(providerId: Id, redirectUri: string, now: Date): StartedSignIn {
  return {
    id: newId(),
    providerId,
    redirectUri,
    secrets: { state: randomText(), nonce: randomText(), verifier: randomText() },
    expiresAt: new Date(now.getTime() + signInLifetimeMs),
  };
}

export function signInToken(vault: Vault, { expiresAt, ...signIn }: StartedSignIn): string {
  return vault.seal(JSON.stringify({ ...signIn, expiresAt: expiresAt.getTime() }), context).toString('base64url');
}

/** @returns undefined if the token was not issued by this service, or has expired */
export function readSignInToken(vault: Vault, token: string, now: Date): StartedSignIn | undefined {
  let text: string;
  try {
    text = vault.open(Buffer.from(token, 'base64url'), context);
  } catch {
    return undefined;
  }
  const { expiresAt, ...signIn } = JSON.parse(text) as Omit<StartedSignIn, 'expiresAt'> & { expiresAt: number };
  return expiresAt > now.getTime() ? { ...signIn, expiresAt: new Date(expiresAt) } : undefined;
}

/** @returns false if the token was already used */
export async function spendSignIn(db: Queries, { id, expiresAt }: StartedSignIn): Promise<boolean> {
  const spent = await db.one(
    sql`INSERT INTO spent_sign_ins (id, expires_at) VALUES (${id}, ${expiresAt}) ON CONFLICT DO NOTHING RETURNING 1`,
  );
  return spent !== undefined;
}

const batchSize = 1_000;

/** Removes a batch of used tokens that have expired. The clocks of processes differ, so each row stays for one more hour. */
export async function removeSpentSignIns(
  db: Queries,
  now: Date,
): Promise<{ rows: { spentSignIns: number }; more: boolean }> {
  const before = new Date(now.getTime() - 3_600_000);
  const spentSignIns = await db.run(sql`DELETE FROM spent_sign_ins WHERE id IN (
    SELECT id FROM spent_sign_ins WHERE expires_at <= ${before} ORDER BY expires_at LIMIT ${batchSize} FOR UPDATE SKIP LOCKED)`);
  return { rows: { spentSignIns }, more: spentSignIns >= batchSize };
}
