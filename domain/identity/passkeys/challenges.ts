/**
 * Issues and checks the challenges that authenticators sign. A challenge is not stored when it is issued, so requests cannot fill a
 * table. A challenge that a valid passkey has answered is stored, and is refused afterwards (PKY-3).
 */
import { randomBytes } from 'node:crypto';
import type { Id } from '../../../platform/core/ids.ts';
import { sha256, type Vault } from '../../../platform/infra/keys/vault.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { passkeyRules } from './passkeys.policy.ts';

/** The use for which a challenge is issued. It is refused for every other use. */
export type ChallengeUse =
  | { readonly use: 'administrator sign-in' }
  | { readonly use: 'student sign-in'; readonly clubId: Id }
  | { readonly use: 'registration'; readonly ownerId: Id }
  /** The occasion is the challenge of a sign-in, or the id of a session. */
  | { readonly use: 'second factor'; readonly occasion: string };

export interface ReadChallenge {
  readonly text: string;
  readonly expiresAt: Date;
}

const timeBytes = 6;
const randomPart = 16;
const macBytes = 16;

function labelOf(use: ChallengeUse, token: Buffer): string {
  return `passkey challenge:${use.use}:${subjectOf(use)}:${token.toString('hex')}`;
}

function subjectOf(use: ChallengeUse): string {
  if (use.use === 'student sign-in') return use.clubId.toLowerCase();
  if (use.use === 'registration') return use.ownerId;
  return use.use === 'second factor' ? use.occasion : '';
}

/** @returns the challenge in base64url. It is good for 5 minutes and one answer */
export function issueChallenge(vault: Vault, use: ChallengeUse, now: Date): string {
  const time = Buffer.alloc(timeBytes);
  time.writeUIntBE(now.getTime() + passkeyRules.challengeMs, 0, timeBytes);
  const token = Buffer.concat([time, randomBytes(randomPart)]);
  return Buffer.concat([token, vault.mac(labelOf(use, token), macBytes)]).toString('base64url');
}

/** @returns undefined if the challenge has expired, is for another use, or was not issued by this service */
export function readChallenge(vault: Vault, use: ChallengeUse, text: string, now: Date): ReadChallenge | undefined {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.length !== timeBytes + randomPart + macBytes || bytes.toString('base64url') !== text) return undefined;
  const token = bytes.subarray(0, timeBytes + randomPart);
  if (!vault.matches(labelOf(use, token), bytes.subarray(token.length))) return undefined;
  const expiresAt = new Date(token.readUIntBE(0, timeBytes));
  return now < expiresAt ? { text, expiresAt } : undefined;
}

/** Spends a challenge. If calls with the same challenge run at the same time, only one gets true. @returns whether it was unspent */
export async function spendChallenge(tx: Transaction, { text, expiresAt }: ReadChallenge): Promise<boolean> {
  const written = await tx.one(sql`INSERT INTO spent_passkey_challenges (challenge_hash, expires_at)
     VALUES (${sha256(text)}, ${expiresAt}) ON CONFLICT (challenge_hash) DO NOTHING RETURNING 1`);
  return written !== undefined;
}

/** In milliseconds. The row stays longer than the challenge is good for, because the clocks of processes differ. */
const retentionMs = 3_600_000;
const batchSize = 1_000;

/** Removes a batch of spent challenges that expired an hour ago. @returns the number, and whether there may be more to do now */
export async function removeSpentChallenges(
  db: Queries,
  now: Date,
): Promise<{ rows: { passkeyChallenges: number }; more: boolean }> {
  const removed = await db.run(sql`DELETE FROM spent_passkey_challenges WHERE challenge_hash IN (
    SELECT challenge_hash FROM spent_passkey_challenges WHERE expires_at <= ${new Date(now.getTime() - retentionMs)}
     ORDER BY expires_at LIMIT ${batchSize} FOR UPDATE SKIP LOCKED)`);
  return { rows: { passkeyChallenges: removed }, more: removed >= batchSize };
}
