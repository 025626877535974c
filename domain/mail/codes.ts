/**
 * One-time codes (DEC-61). A code belongs to the request that asked for it: only who holds the request's `code_id` can try it,
 * so nobody else can use up its tries. Wrong codes are counted for the address, too.
 */
import { OneTimeToken } from '../../entities/identity/one-time-token.ts';
import { addressKeyOf } from '../../platform/infra/address-keys.ts';
import type { Transaction } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { Id } from '../../platform/core/ids.ts';
import { sameText, type Vault } from '../../platform/infra/vault.ts';
import { triesNeeded } from './codes.policy.ts';
import { tokenText } from './one-time-tokens.ts';

/** A code as somebody says it. */
interface TriedCode {
  clubId: Id;
  /** Folded. */
  email: string;
  codeId: Id;
  code: string;
}

/**
 * Tries a code. To be committed whatever it answers: each try counts, at once with others, before anything is compared. It
 * makes the same statements for an address without account.
 * @returns the student whose code it is, undefined for any that is not good
 */
export async function tryCode(
  tx: Transaction,
  vault: Vault,
  { clubId, email, codeId, code }: TriedCode,
  now: Date,
): Promise<Id | undefined> {
  const day = now.toISOString().slice(0, 10);
  const counted = await tx.one<{ tried: number }>(sql`
    INSERT INTO code_failure_counts AS counted (address_key, day, failures) VALUES (${addressKeyOf(vault, email)}, ${day}, 1)
    ON CONFLICT (address_key) DO UPDATE
       SET failures = CASE WHEN counted.day = excluded.day THEN counted.failures + 1 ELSE 1 END, day = excluded.day
    RETURNING failures AS tried`);
  const issued = await tx.one<{ studentId: Id; keyId: Buffer | null }>(sql`
    UPDATE one_time_tokens token SET tries_left = tries_left - 1
      FROM students student
     WHERE token.id = ${codeId} AND token.purpose = 'student_code' AND token.expires_at > ${now}
       AND token.tries_left >= ${triesNeeded(counted?.tried ?? 1)}
       AND student.id = token.student_id AND student.club_id = ${clubId} AND student.email = ${email}
    RETURNING token.student_id AS "studentId", token.key_id AS "keyId"`);
  const keyId = issued?.keyId ?? vault.keyId;
  const isRight = vault.has(keyId) && sameText(code, tokenText(vault, 'student_code', codeId, keyId));
  return isRight ? issued?.studentId : undefined;
}

/**
 * Spends a code that was tried with success, in the transaction that it is good for; the student's row is held. It was no
 * failure of the address.
 * @returns false if another has spent it meanwhile, or it was withdrawn
 */
export async function spendCode(
  tx: Transaction,
  vault: Vault,
  { codeId, email }: Pick<TriedCode, 'codeId' | 'email'>,
): Promise<boolean> {
  const { affected } = await tx.manager.delete(OneTimeToken, { id: codeId });
  if (affected === 0) return false;
  await tx.run(
    sql`UPDATE code_failure_counts SET failures = failures - 1 WHERE address_key = ${addressKeyOf(vault, email)} AND failures > 0`,
  );
  return true;
}
