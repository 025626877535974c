/** A sign-in that waits for the second factor: after the first factor the answer is a challenge, not a session (FAC-3). */
import { randomBytes } from 'node:crypto';
import { SignInChallenge } from '../../../entities/identity/sign-in-challenge.ts';
import type { SessionOpener } from '../../../entities/identity/values.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { sha256 } from '../../../platform/infra/keys/vault.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../../platform/infra/postgres/sql.ts';
import type { SessionOrigin } from '../sessions/sessions.ts';
import { listAvailableMethods } from './methods.ts';

export type Challenge = RecordOf<'SecondFactorChallenge'>;

/** In milliseconds. */
const challengeLifetimeMs = 5 * 60_000;
/** A challenge is cheap for a person who knows the password. So an account keeps only the newest of each network, and the newest of all. */
export const challengesKept = { ofNetwork: 5, ofAccount: 50 } as const;

/** The first factor is right, and the account needs a second one. The answer contains the challenge. */
export class SecondFactorRequired extends DomainError {
  override readonly members: { readonly challenge: Challenge };

  constructor(challenge: Challenge) {
    super('second_factor_required', 'Show a second factor to finish the sign-in.');
    this.members = { challenge };
  }
}

/**
 * Creates a challenge, and removes the oldest ones of the account beyond the bounds.
 * @param origin of the session that the second factor will open
 * @returns the challenge with its token. Only the hash of the token is stored
 */
export async function openChallenge(
  tx: Transaction,
  administratorId: Id,
  { openedBy, provider, network }: SessionOrigin,
  now: Date,
): Promise<Challenge> {
  const token = randomBytes(32).toString('base64url');
  const expiresAt = new Date(now.getTime() + challengeLifetimeMs);
  const { id: providerId = null, clubId = null } = provider ?? {};
  const row = { administratorId, openedBy, providerId, clubId, network, createdAt: now, expiresAt };
  await tx.manager.insert(SignInChallenge, { tokenHash: sha256(token), ...row });
  await tx.run(sql`DELETE FROM sign_in_challenges WHERE token_hash IN (
    SELECT token_hash FROM sign_in_challenges WHERE token_hash IN (
      SELECT token_hash FROM (
        SELECT token_hash, row_number() OVER (PARTITION BY network ORDER BY created_at DESC, token_hash) AS in_network,
               row_number() OVER (ORDER BY created_at DESC, token_hash) AS in_account
          FROM sign_in_challenges WHERE administrator_id = ${administratorId}) AS ranked
       WHERE in_network > ${challengesKept.ofNetwork} OR in_account > ${challengesKept.ofAccount})
    FOR UPDATE SKIP LOCKED)`);
  const methods = await listAvailableMethods(tx, administratorId);
  return { token, expires_at: expiresAt.toISOString(), methods };
}

export interface PendingSignIn extends Pick<SignInChallenge, 'administratorId' | 'providerId' | 'clubId'> {
  openedBy: SessionOpener;
  /** The address of the account. */
  email: string;
}

/** Reads a challenge without using it. @returns undefined if it is unknown, used or expired */
export async function findChallenge(db: Queries, token: string, now: Date): Promise<PendingSignIn | undefined> {
  return db.one<PendingSignIn>(sql`SELECT ${columns(SignInChallenge, ['administratorId', 'providerId', 'clubId', 'openedBy'], 'challenge')},
          administrator.email
     FROM sign_in_challenges challenge JOIN administrators administrator ON administrator.id = challenge.administrator_id
    WHERE challenge.token_hash = ${sha256(token)} AND challenge.expires_at > ${now} AND administrator.removed_at IS NULL`);
}

/** Uses a challenge: deletes it in the transaction that opens the session. @returns whether this call used it */
export async function spendChallenge(tx: Transaction, token: string, now: Date): Promise<boolean> {
  return (
    (await tx.run(sql`DELETE FROM sign_in_challenges WHERE token_hash = ${sha256(token)} AND expires_at > ${now}`)) > 0
  );
}

const challengesPerBatch = 1_000;

/** Removes a batch of expired challenges. @returns the number of challenges, and whether there may be more to do now */
export async function removeExpiredChallenges(
  db: Queries,
  now: Date,
): Promise<{ rows: { challenges: number }; more: boolean }> {
  const challenges = await db.run(sql`DELETE FROM sign_in_challenges WHERE token_hash IN (
    SELECT token_hash FROM sign_in_challenges WHERE expires_at <= ${new Date(now.getTime() - challengeLifetimeMs)}
     ORDER BY expires_at LIMIT ${challengesPerBatch} FOR UPDATE SKIP LOCKED)`);
  return { rows: { challenges }, more: challenges >= challengesPerBatch };
}
