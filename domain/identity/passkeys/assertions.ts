/** Checks the answer of a passkey, and then uses it once (PKY-3, PKY-4). */
import type { RecordOf } from '../../../contract/contract.ts';
import type { Passkey } from '../../../entities/identity/passkey.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { readChallenge, spendChallenge, type ChallengeUse, type ReadChallenge } from './challenges.ts';
import { passkeyRules } from './passkeys.policy.ts';
import { challengeIn, verifyAssertion } from './verification.ts';

type Assertion = RecordOf<'PasskeyAssertion'>;
type Options = RecordOf<'PasskeyRequestOptions'>;

/** A passkey of a living account, with the data that check its answers. */
export interface FoundPasskey {
  id: Id;
  /** The administrator or the student. */
  ownerId: Id;
  publicKey: Buffer;
  counter: string;
}

/** The page and the purpose for which an answer is accepted. */
export interface ExpectedUse {
  readonly use: ChallengeUse;
  readonly rpId: string;
  readonly origin: string;
  /** Whether the answer must name its owner, because the request names no account. */
  readonly needsHandle: boolean;
}

export interface CheckedAssertion {
  readonly challenge: ReadChallenge;
  readonly passkeyId: Id;
  readonly ownerId: Id;
  readonly counter: number;
}

/**
 * Checks an answer without a change. The check takes as long for an unknown passkey as for a wrong answer of a known one.
 * @returns undefined if the answer is wrong
 */
export async function checkAssertion(
  vault: Vault,
  assertion: Assertion,
  { use, rpId, origin, needsHandle }: ExpectedUse,
  passkey: FoundPasskey | undefined,
  now: Date,
): Promise<CheckedAssertion | undefined> {
  const challenge = readChallenge(vault, use, challengeIn(assertion) ?? '', now);
  if (!challenge) return undefined;
  const page = { rpId, origin, challenge: challenge.text };
  const credential = passkey && { ...passkey, counter: Number(passkey.counter) };
  const counter = await verifyAssertion(assertion, page, credential, { needsHandle });
  if (!passkey || counter === undefined) return undefined;
  return { challenge, passkeyId: passkey.id, ownerId: passkey.ownerId, counter };
}

/**
 * Spends the challenge, and records the counter. The caller has locked the owner's account.
 * @returns false if the challenge is spent, if the passkey was removed meanwhile, or if a later answer was used first
 */
export async function useAssertion(
  tx: Transaction,
  { challenge, passkeyId, counter }: CheckedAssertion,
  now: Date,
): Promise<boolean> {
  if (!(await spendChallenge(tx, challenge))) return false;
  const used = await tx.run(sql`UPDATE passkeys SET counter = ${counter}::bigint, last_used_at = ${now}
     WHERE id = ${passkeyId} AND (counter < ${counter}::bigint OR counter = 0 AND ${counter}::bigint = 0)`);
  if (used === 0) return false;
  await tx.run(sql`UPDATE second_factors factor SET last_used_at = ${now}
     FROM passkeys passkey WHERE passkey.id = ${passkeyId} AND factor.id = passkey.factor_id`);
  return true;
}

/** @param allowed the passkeys that may answer; empty if the authenticator chooses the account */
export function requestOptions(rpId: string, challenge: string, allowed: Options['allowCredentials'] = []): Options {
  return {
    challenge,
    timeout: passkeyRules.challengeMs,
    rpId,
    allowCredentials: allowed,
    userVerification: 'required' as const,
  };
}

/** @returns a credential as browsers need it */
export const descriptorOf = ({ credentialId, transports }: Pick<Passkey, 'credentialId' | 'transports'>) => ({
  id: credentialId.toString('base64url'),
  type: 'public-key' as const,
  transports,
});

const credentialBytes = (text: string) => Buffer.from(text, 'base64url');

/** @param credentialId in base64url */
export function findAdministratorPasskey(db: Queries, credentialId: string): Promise<FoundPasskey | undefined> {
  return db.one<FoundPasskey>(sql`
    SELECT passkey.id, factor.administrator_id AS "ownerId", passkey.public_key AS "publicKey", passkey.counter
      FROM passkeys passkey JOIN second_factors factor ON factor.id = passkey.factor_id
     WHERE passkey.club_id IS NULL AND passkey.credential_id = ${credentialBytes(credentialId)}`);
}

/**
 * @param credentialId in base64url
 * @returns the passkey if it belongs to a student of this club, and the slug of the club; an empty slug for an unknown club
 */
export async function findStudentPasskey(
  db: Queries,
  clubId: Id,
  credentialId: string,
): Promise<{ slug: string; passkey: FoundPasskey | undefined }> {
  const row = await db.one<
    { slug: string } & (FoundPasskey | { id: null; ownerId: null; publicKey: null; counter: null })
  >(sql`
    SELECT club.slug, student.id AS "ownerId", passkey.id, passkey.public_key AS "publicKey", passkey.counter
      FROM clubs club
      LEFT JOIN (passkeys passkey JOIN students student
                   ON student.id = passkey.student_id AND student.removed_at IS NULL AND student.verified_at IS NOT NULL)
        ON passkey.club_id = club.id AND passkey.credential_id = ${credentialBytes(credentialId)}
     WHERE club.id = ${clubId} AND club.erasing_at IS NULL`);
  if (!row) return { slug: '', passkey: undefined };
  const { slug, ...passkey } = row;
  return { slug, passkey: passkey.id === null ? undefined : passkey };
}
