/** That a person owns the address of an account, and which password is theirs: the same rule for students and administrators (ADR 5). */
import type { Transaction } from '../core/database.ts';
import type { Id } from '../core/ids.ts';
import { withdrawTokensOf, type TokenOwner } from './one-time-tokens.ts';

const accounts = {
  student: { table: 'students', owner: 'student_id', signUpAgain: 'student_sign_up_again' },
  administrator: { table: 'administrators', owner: 'administrator_id', signUpAgain: 'administrator_sign_up_again' },
} as const;
export type AccountKind = keyof typeof accounts;

/**
 * Confirms an account that was never confirmed; one that is confirmed already stays as it is. Its password is kept only
 * if the proof was the sign-up's own mail and nobody offered another password meanwhile: anybody can sign up with
 * anybody's address, and the one who reads the mails cannot tell whose sign-up each belongs to. Whoever is left without
 * a password chooses one by a reset. What was mailed before is withdrawn.
 * @param proof `sign_up`: the mail that the sign-up sent; `other`: a code, which says nothing about who signed up
 */
export async function confirmAddress(
  tx: Transaction,
  kind: AccountKind,
  id: Id,
  proof: 'sign_up' | 'other',
  now: Date,
): Promise<void> {
  const { table, owner, signUpAgain } = accounts[kind];
  const [, confirmed] = await tx.query<[unknown[], number]>(
    `UPDATE ${table}
        SET verified_at = $2,
            password_hash = CASE
              WHEN $3 AND NOT EXISTS (SELECT FROM one_time_tokens WHERE ${owner} = $1 AND purpose = '${signUpAgain}')
              THEN password_hash END
      WHERE id = $1 AND verified_at IS NULL`,
    [id, now, proof === 'sign_up'],
  );
  const tokenOwner: TokenOwner = kind === 'student' ? { studentId: id } : { administratorId: id };
  if (confirmed > 0) await withdrawTokensOf(tx, tokenOwner);
}
