/** Single-use tokens and codes that are mailed and expire. A used, an expired and an unknown token get the same answer: 410. */
import { OneTimeToken } from '../../../entities/mail/one-time-token.ts';
import type { TokenPurpose } from '../../../entities/mail/values.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns, raw, sql } from '../../../platform/infra/postgres/sql.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { codeRequestId } from './code-requests.ts';
import { codeTries } from './codes.policy.ts';
import { sha256, type Vault } from '../../../platform/infra/keys/vault.ts';
import { isOpenClub } from '../../open-clubs.ts';
import { RefusalToPerson } from '../../language/refusal.ts';

const minute = 60_000;
const hour = 60 * minute;

/** The lifetime of a token by its purpose, in milliseconds (DEC-14). */
export const tokenLifetimeMs = {
  student_verify_email: 24 * hour,
  student_invitation: 7 * 24 * hour,
  student_reset_password: 1 * hour,
  student_code: 10 * minute,
  /**
   * The service never mails this token. The token stores the password of the last repeated sign-up. So a sign-in with this password gets
   * the same answer as a sign-in with the password of a first sign-up. The password of a first sign-up never expires, so this token must
   * last very long.
   */
  student_sign_up_again: 365 * 24 * hour,
  administrator_verify_email: 24 * hour,
  administrator_reset_password: 1 * hour,
  administrator_sign_up_again: 365 * 24 * hour,
  administrator_invitation: 7 * 24 * hour,
  administrator_identity_code: 15 * minute,
} as const satisfies Record<TokenPurpose, number>;

/** A person has at most one token of each of these purposes. This token stores the password of the person's last sign-up. */
const newestOnly: ReadonlySet<TokenPurpose> = new Set(['student_sign_up_again', 'administrator_sign_up_again']);

/** A person types these. So they are short, their tries are counted, and their hash is not stored. */
const codePurposes: ReadonlySet<TokenPurpose> = new Set(['student_code', 'administrator_identity_code']);

export type TokenOwner = { studentId: Id } | { administratorId: Id } | { invitationId: Id } | { identityJoinId: Id };

/** Every token that cannot be used gets this error, without a reason (ACC-4). */
export const tokenGone = () => new RefusalToPerson('token_gone', 'refusal.token_gone');

/**
 * Issues a token. Its text is not stored, but derived from its id, so any later mail can contain it.
 * @param passwordHash only for the purposes `…_sign_up_again`
 * @returns the token's id, from which {@link tokenText} derives the text
 */
export async function issueToken(
  tx: Transaction,
  vault: Vault,
  { purpose, owner, passwordHash = null }: { purpose: TokenPurpose; owner: TokenOwner; passwordHash?: string | null },
  now: Date,
): Promise<Id> {
  const isCode = codePurposes.has(purpose);
  const id = purpose === 'student_code' ? codeRequestId(now) : newId();
  const [column, ownerId] = ownerColumn(owner);
  if (newestOnly.has(purpose)) {
    await tx.run(sql`DELETE FROM one_time_tokens WHERE ${raw(column)} = ${ownerId} AND purpose = ${purpose}`);
  }
  await tx.run(sql`INSERT INTO one_time_tokens (id, purpose, token_hash, key_id, ${raw(column)}, password_hash, tries_left, created_at, expires_at)
     VALUES (${id}, ${purpose}, ${isCode ? null : sha256(tokenText(vault, purpose, id))}, ${vault.keyId}, ${ownerId}, ${passwordHash}, ${purpose === 'student_code' ? codeTries : null}, ${now}, ${new Date(now.getTime() + tokenLifetimeMs[purpose])})`);
  return id;
}

/**
 * Issues a token for each of these students in one statement. This function cannot issue codes.
 * @returns the ids of the tokens, in the order of the students
 */
export async function issueTokens(
  tx: Transaction,
  vault: Vault,
  purpose: Exclude<TokenPurpose, 'student_code'>,
  studentIds: readonly Id[],
  now: Date,
): Promise<Id[]> {
  const ids = studentIds.map(() => newId());
  const hashes = ids.map((id) => sha256(tokenText(vault, purpose, id)));
  await tx.run(sql`INSERT INTO one_time_tokens (id, purpose, token_hash, key_id, student_id, created_at, expires_at)
     SELECT id, ${purpose}, token_hash, ${vault.keyId}::bytea, student_id, ${now}, ${new Date(now.getTime() + tokenLifetimeMs[purpose])}
       FROM unnest(${ids}::uuid[], ${hashes}::bytea[], ${studentIds}::uuid[]) AS issued (id, token_hash, student_id)`);
  return ids;
}

function ownerColumn(
  owner: TokenOwner,
): ['student_id' | 'administrator_id' | 'invitation_id' | 'identity_join_id', Id] {
  if ('studentId' in owner) return ['student_id', owner.studentId];
  if ('administratorId' in owner) return ['administrator_id', owner.administratorId];
  if ('identityJoinId' in owner) return ['identity_join_id', owner.identityJoinId];
  return ['invitation_id', owner.invitationId];
}

/**
 * @param keyId the id of the key under which the token was issued; the current key if absent @returns the text for the mail: 43
 * characters, or a code: six digits for a student, eight characters for the join of an identity @throws Error if the process does not have that key
 */
export function tokenText(vault: Vault, purpose: TokenPurpose, id: Id, keyId?: Buffer): string {
  const derived = vault.derive(`${purpose}:${id}`, keyId);
  if (purpose === 'student_code') return String(derived.readUIntBE(0, 6) % 1_000_000).padStart(6, '0');
  if (purpose === 'administrator_identity_code') return identityCode(derived);
  return derived.toString('base64url');
}

/** Without vowels, so that a code is no word, and without characters that look alike. */
const codeLetters = 'BCDFGHJKLMNPQRSTVWXZ23456789';

/** @returns eight characters in two groups: 377 thousand million codes, too many to guess within the tries of a join */
function identityCode(derived: Buffer): string {
  const number = derived.readBigUInt64BE(0);
  const base = BigInt(codeLetters.length);
  const letters = Array.from({ length: 8 }, (_, place) => codeLetters[Number((number / base ** BigInt(place)) % base)]);
  return `${letters.slice(0, 4).join('')}-${letters.slice(4).join('')}`;
}

export interface IssuedToken {
  id: Id;
  /** Null for a token of an old release, which had a single key. */
  keyId: Buffer | null;
  /** Null for a code. */
  tokenHash: Buffer | null;
}

/**
 * Returns the text of a token for a mail. Every attempt gets the same text, even after a change of the master key. If the process lacks the
 * token's key, the token is issued again, and the earlier text becomes invalid.
 * @returns undefined if the token has been spent or withdrawn
 */
export async function textToMail(
  db: Queries,
  vault: Vault,
  purpose: TokenPurpose,
  { id, keyId, tokenHash }: IssuedToken,
): Promise<string | undefined> {
  const issuedUnder = keyId ?? vault.keyIds.find((key) => isOf(vault, purpose, { id, tokenHash }, key));
  if (issuedUnder && vault.has(issuedUnder)) return tokenText(vault, purpose, id, issuedUnder);
  const text = tokenText(vault, purpose, id);
  const renewed = await db.run(sql`UPDATE one_time_tokens
      SET key_id = ${vault.keyId}, token_hash = ${tokenHash && sha256(text)} WHERE id = ${id}`);
  return renewed === 0 ? undefined : text;
}

/** A code without a key id comes from a release with a single key. Codes last ten minutes, so this occurs only during the upgrade. */
const isOf = (vault: Vault, purpose: TokenPurpose, { id, tokenHash }: Omit<IssuedToken, 'keyId'>, key: Buffer) =>
  tokenHash === null ? key.equals(vault.keyId) : tokenHash.equals(sha256(tokenText(vault, purpose, id, key)));

export interface SpentToken {
  purpose: TokenPurpose;
  studentId: Id | null;
  administratorId: Id | null;
  invitationId: Id | null;
}

/**
 * Spends a token: deletes it in the transaction that uses it.
 * @throws DomainError token_gone if the token is used, expired, unknown or for another purpose
 */
export async function spendToken(
  tx: Transaction,
  purposes: readonly TokenPurpose[],
  token: string,
  now: Date,
): Promise<SpentToken> {
  const rows = await tx.rows<SpentToken>(sql`DELETE FROM one_time_tokens
      WHERE token_hash = ${sha256(token)} AND purpose = ANY(${purposes}) AND expires_at > ${now}
  RETURNING ${columns(OneTimeToken, ['purpose', 'studentId', 'administratorId', 'invitationId'])}`);
  const [spent] = rows;
  if (!spent) throw tokenGone();
  return spent;
}

/**
 * Returns the student of a token without spending it, because the student is locked before the token (ENG-6). @throws DomainError
 * token_gone, as `spendToken`
 */
export async function ownerOfToken(
  tx: Transaction,
  purposes: readonly TokenPurpose[],
  token: string,
  now: Date,
): Promise<Id> {
  const owner = await tx.one<{ studentId: Id | null }>(sql`SELECT student_id AS "studentId" FROM one_time_tokens
      WHERE token_hash = ${sha256(token)} AND purpose = ANY(${purposes}) AND expires_at > ${now}
        AND EXISTS (SELECT FROM students student WHERE student.id = student_id AND ${isOpenClub(sql`student.club_id`)})`);
  if (!owner?.studentId) throw tokenGone();
  return owner.studentId;
}

/**
 * Returns the invitation of a token without spending it, because the club is locked before the token.
 * @throws DomainError token_gone, as `spendToken`
 */
export async function invitationOfToken(tx: Transaction, token: string, now: Date): Promise<Id> {
  const owner = await tx.one<{
    invitationId: Id | null;
  }>(sql`SELECT ${columns(OneTimeToken, ['invitationId'])} FROM one_time_tokens
      WHERE token_hash = ${sha256(token)} AND purpose = 'administrator_invitation' AND expires_at > ${now}
        AND EXISTS (SELECT FROM invitations invitation
                     WHERE invitation.id = invitation_id AND ${isOpenClub(sql`invitation.club_id`)})`);
  if (!owner?.invitationId) throw tokenGone();
  return owner.invitationId;
}

/** Deletes all tokens of a person, after a new address or password, or a removal. */
export async function withdrawTokensOf(tx: Transaction, owner: TokenOwner): Promise<void> {
  const [column, ownerId] = ownerColumn(owner);
  await tx.run(sql`DELETE FROM one_time_tokens WHERE ${raw(column)} = ${ownerId}`);
}

/** In milliseconds. Expired tokens stay this long, because clocks differ and a mail may wait for its last attempt. */
const expiredForMs = 86_400_000;
const batchSize = 1_000;

/**
 * Removes a batch of tokens that expired at least a day ago. The token with the password of a repeated sign-up stays. While that token
 * exists, the account has no password (ADR 5).
 * @returns the number of removed tokens, and whether another batch may be
 * due immediately
 */
export async function removeExpiredTokens(
  db: Queries,
  now: Date,
): Promise<{ rows: { tokens: number }; more: boolean }> {
  const tokens = await db.run(sql`DELETE FROM one_time_tokens WHERE id IN (
    SELECT id FROM one_time_tokens
     WHERE expires_at <= ${new Date(now.getTime() - expiredForMs)} AND purpose <> ALL (${[...newestOnly]})
     ORDER BY expires_at LIMIT ${batchSize} FOR UPDATE SKIP LOCKED)`);
  return { rows: { tokens }, more: tokens >= batchSize };
}
