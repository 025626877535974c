/**
 * One-time codes (DEC-61). A caller must send the code together with the id of a request. A stranger does not know that id, so a stranger
 * cannot use up the tries of the request. Every unspent code of the account is valid, because a person may have received several codes, for
 * example after a stranger requested a code. A wrong code counts for its request and for the account.
 */
import { createHash } from 'node:crypto';
import { OneTimeToken } from '../../../entities/mail/one-time-token.ts';
import { addressKeyOf } from '../../../platform/infra/keys/address-keys.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { sameText, type Vault } from '../../../platform/infra/keys/vault.ts';
import { isOpenClub } from '../../open-clubs.ts';
import { isUnmailedRequest, type AccountAddress } from './code-requests.ts';
import { mayTryWithheld, triesNeeded } from './codes.policy.ts';
import { tokenText } from './one-time-tokens.ts';

/** A code that a caller tries. */
export interface TriedCode extends AccountAddress {
  /** The request with which the code is tried. */
  codeId: Id;
  code: string;
  /** The network of the caller; absent if it is unknown. */
  network?: string;
}

/** A valid code. */
export interface FoundCode {
  studentId: Id;
  /** The code's own request. It differs from `codeId` if the code belongs to another request. */
  id: Id;
}

/**
 * Tries a code. The function counts each try before it compares the code, so that tries at the same time cannot exceed the limit. The
 * caller must commit the transaction after every result, or the count is lost. If the address has no account, the function runs the same
 * statements. If the club is unknown, the function writes nothing.
 * @returns undefined for an invalid code
 */
export async function tryCode(
  tx: Transaction,
  vault: Vault,
  tried: TriedCode,
  now: Date,
): Promise<FoundCode | undefined> {
  const isUnmailed = isUnmailedRequest(vault, tried, tried.codeId);
  const keys = countKeys(vault, tried, isUnmailed);
  const counts = await countTry(tx, tried.clubId, keys, now);
  const [account = 1, unmailed = 1, network = 1] = keys.map((key) => counts.get(key.toString('hex')) ?? 1);
  const studentId = isUnmailed
    ? await ownerOf(tx, tried, mayTryWithheld({ account: unmailed, network }))
    : await spendTry(tx, tried, triesNeeded(account), now);
  const codes = await tx.rows<{ id: Id; keyId: Buffer | null }>(sql`
    SELECT id, key_id AS "keyId" FROM one_time_tokens
     WHERE student_id = ${studentId ?? null}::uuid AND purpose = 'student_code' AND expires_at > ${now}`);
  // Every code is compared, so the time does not show which code is right.
  const good = codes.filter(({ id, keyId }) => isRight(vault, tried.code, id, keyId ?? vault.keyId));
  const [found] = good;
  return studentId !== undefined && found ? { studentId, id: found.id } : undefined;
}

/**
 * Spends a valid code in the transaction that uses it. The caller holds the lock of the student's row. The try no longer counts as a wrong
 * code.
 * @returns false if another transaction has already spent or withdrawn the code
 */
export async function spendCode(tx: Transaction, vault: Vault, tried: TriedCode, found: FoundCode): Promise<boolean> {
  const { affected } = await tx.manager.delete(OneTimeToken, { id: found.id });
  if (affected === 0) return false;
  const keys = countKeys(vault, tried, isUnmailedRequest(vault, tried, tried.codeId));
  for (const key of keys) {
    await tx.run(
      sql`UPDATE code_failure_counts SET failures = failures - 1 WHERE address_key = ${key} AND failures > 0`,
    );
  }
  return true;
}

/**
 * Deletes the counts of an account's wrong codes. Also deletes rows that an old release wrote. That release counted wrong codes by address
 * only, for all clubs together.
 */
export async function deleteCodeFailures(
  tx: Transaction,
  { clubId, addressKey }: { clubId: Id; addressKey: Buffer },
): Promise<void> {
  const first = codeFailureKey(clubId, addressKey);
  const last = Buffer.concat([first, Buffer.alloc(keyBytes + 2, 0xff)]);
  await tx.run(sql`DELETE FROM code_failure_counts
    WHERE address_key = ${addressKey} OR address_key BETWEEN ${first} AND ${last}`);
}

/** Counts a try for each key. On a new day, each count starts again. @returns the counts; each key is written in hexadecimal */
async function countTry(
  tx: Transaction,
  clubId: Id,
  keys: readonly Buffer[],
  now: Date,
): Promise<ReadonlyMap<string, number>> {
  const day = now.toISOString().slice(0, 10);
  const rows = await tx.rows<{ key: Buffer; tried: number }>(sql`
    INSERT INTO code_failure_counts AS counted (address_key, day, failures)
    SELECT key, ${day}::date, 1 FROM unnest(${keys}::bytea[]) WITH ORDINALITY AS given (key, place)
     WHERE ${isOpenClub(clubId)} ORDER BY place
    ON CONFLICT (address_key) DO UPDATE
       SET failures = CASE WHEN counted.day = excluded.day THEN counted.failures + 1 ELSE 1 END, day = excluded.day
    RETURNING address_key AS key, failures AS tried`);
  return new Map(rows.map(({ key, tried }) => [key.toString('hex'), tried]));
}

/** @returns the student, if the mailed request still has enough tries */
async function spendTry(
  tx: Transaction,
  { clubId, email, codeId }: TriedCode,
  needed: number,
  now: Date,
): Promise<Id | undefined> {
  const request = await tx.one<{ studentId: Id }>(sql`
    UPDATE one_time_tokens token SET tries_left = tries_left - 1
      FROM students student
     WHERE token.id = ${codeId} AND token.purpose = 'student_code' AND token.expires_at > ${now} AND token.tries_left >= ${needed}
       AND student.id = token.student_id AND student.club_id = ${clubId} AND student.email = ${email} AND ${isOpenClub(clubId)}
    RETURNING token.student_id AS "studentId"`);
  return request?.studentId;
}

/** @returns the student with this address, if the try is allowed */
async function ownerOf(tx: Transaction, { clubId, email }: TriedCode, mayTry: boolean): Promise<Id | undefined> {
  const student = await tx.one<{ id: Id }>(
    sql`SELECT id FROM students WHERE club_id = ${clubId} AND email = ${email} AND ${mayTry}::boolean AND ${isOpenClub(clubId)}`,
  );
  return student?.id;
}

const isRight = (vault: Vault, code: string, id: Id, keyId: Buffer) =>
  vault.has(keyId) && sameText(code, tokenText(vault, 'student_code', id, keyId));

const keyBytes = 32;

/**
 * @param clubId the id of the club, in upper or lower case
 * @param addressKey the keyed hash of the address
 * @returns the key under which an account's wrong codes are counted. The same address has a different key in each club
 */
export const codeFailureKey = (clubId: Id, addressKey: Buffer) =>
  createHash('sha256').update(`${clubId.toLowerCase()}:`).update(addressKey).digest();

/**
 * Returns the keys of the counts that a try increases, the account's first. Every process locks them in this order. The keys for withheld
 * requests start with the account's key, so that its deletion finds them.
 */
function countKeys(vault: Vault, { clubId, email, network }: TriedCode, isUnmailed: boolean): Buffer[] {
  const account = codeFailureKey(clubId, addressKeyOf(vault, email));
  if (!isUnmailed) return [account];
  const ofNetwork = vault.deriveLasting(`network of codes:${account.toString('hex')}:${network ?? ''}`);
  return [account, Buffer.concat([account, Buffer.of(0)]), Buffer.concat([account, Buffer.of(1), ofNetwork])];
}
