/** Confirms the address of an account, and decides which password it keeps, for students and administrators alike (ADR 5). */
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { raw, sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import { issueToken, withdrawTokensOf, type TokenOwner } from '../../mail/codes/one-time-tokens.ts';

const accounts = {
  student: { table: 'students', owner: 'student_id', signUpAgain: 'student_sign_up_again' },
  administrator: { table: 'administrators', owner: 'administrator_id', signUpAgain: 'administrator_sign_up_again' },
} as const;
export type AccountKind = keyof typeof accounts;

/** The password of a repeated sign-up with the same address. `same` is true if this password equals the account's password. */
export interface Offer {
  passwordHash: string;
  same: boolean;
}

/**
 * Records the password of a repeated sign-up. A person who signs in with the last recorded password gets `email_not_verified`. If the
 * recorded password differs from the account's password, it is stored separately until the address is confirmed.
 */
export async function noteOffer(
  tx: Transaction,
  vault: Vault,
  kind: AccountKind,
  id: Id,
  { passwordHash, same }: Offer,
  now: Date,
): Promise<void> {
  const { owner, signUpAgain } = accounts[kind];
  if (same) {
    await tx.run(
      sql`UPDATE one_time_tokens SET password_hash = ${passwordHash} WHERE ${raw(owner)} = ${id} AND purpose = '${raw(signUpAgain)}'`,
    );
  } else {
    await issueToken(tx, vault, { purpose: signUpAgain, owner: ownerOf(kind, id), passwordHash }, now);
  }
}

/**
 * Confirms an account that was never confirmed. A confirmed account does not change. Any person can sign up with any address, and the owner
 * of the address cannot see which sign-up sent a mail. So the account keeps its password only if `proof` is `sign_up`, and if no later
 * sign-up named a different password. Otherwise the password is removed, and the owner chooses a new password with a reset mail. The tokens
 * of earlier mails become invalid.
 * @param proof `sign_up` is the link in the mail of the sign-up; `other` is a code, which does not show who signed up
 */
export async function confirmAddress(
  tx: Transaction,
  kind: AccountKind,
  id: Id,
  proof: 'sign_up' | 'other',
  now: Date,
): Promise<void> {
  const { table, owner, signUpAgain } = accounts[kind];
  const confirmedRows = await tx.run(sql`UPDATE ${raw(table)}
        SET verified_at = ${now},
            password_hash = CASE
              WHEN ${proof === 'sign_up'} AND NOT EXISTS (SELECT FROM one_time_tokens WHERE ${raw(owner)} = ${id} AND purpose = '${raw(signUpAgain)}')
              THEN password_hash END
      WHERE id = ${id} AND verified_at IS NULL`);
  if (confirmedRows > 0) await withdrawTokensOf(tx, ownerOf(kind, id));
}

function ownerOf(kind: AccountKind, id: Id): TokenOwner {
  return kind === 'student' ? { studentId: id } : { administratorId: id };
}
