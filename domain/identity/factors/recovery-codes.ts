/** Recovery codes: ten codes, each good for one use, for a person without their second factors (FAC-6). */
import { randomInt } from 'node:crypto';
import { RecoveryCode } from '../../../entities/identity/recovery-code.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { VaultDeps } from '../../deps.ts';
import { mailAboutFactors } from './mails.ts';
import type { FactorCheck } from './methods.ts';

export const recoveryCodeCount = 10;
/** Letters and digits that people do not confuse: without I, L, O and U (Crockford's base32). */
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
/** 10 characters have 50 bits. */
const groups = { count: 2, length: 5 } as const;

const newGroup = () =>
  Array.from({ length: groups.length }, () => alphabet.charAt(randomInt(alphabet.length))).join('');
const newCode = () => Array.from({ length: groups.count }, newGroup).join('-');

/** People type codes in small letters, with or without the hyphen, and with letters that look like digits. */
const normalized = (code: string) =>
  code
    .toUpperCase()
    .replaceAll(/[^0-9A-Z]/g, '')
    .replaceAll('O', '0')
    .replaceAll(/[IL]/g, '1');

const hashOf = (vault: Vault, administratorId: Id, code: string) =>
  vault.deriveLasting(`recovery code:${administratorId}:${normalized(code)}`);

/** Replaces the codes of an account. @returns the new codes. Only their hashes are stored */
export async function replaceRecoveryCodes(
  tx: Transaction,
  { vault }: Pick<VaultDeps, 'vault'>,
  administratorId: Id,
  now: Date,
): Promise<string[]> {
  const codes = Array.from({ length: recoveryCodeCount }, newCode);
  await tx.manager.delete(RecoveryCode, { administratorId });
  await tx.manager.insert(
    RecoveryCode,
    codes.map((code) => ({ administratorId, codeHash: hashOf(vault, administratorId, code), createdAt: now })),
  );
  return codes;
}

export async function countRecoveryCodes(db: Queries, administratorId: Id): Promise<number> {
  const row = await db.one<{ count: number }>(
    sql`SELECT count(*)::int AS count FROM recovery_codes WHERE administrator_id = ${administratorId}`,
  );
  return row?.count ?? 0;
}

export const hasRecoveryCodes = async (db: Queries, administratorId: Id): Promise<boolean> =>
  (await countRecoveryCodes(db, administratorId)) > 0;

/** @returns whether it is an unused code of the account */
export async function isRecoveryCode(
  db: Queries,
  { vault }: VaultDeps,
  { administratorId }: FactorCheck,
  code: string,
): Promise<boolean> {
  const row = await db.one(sql`SELECT 1 FROM recovery_codes
    WHERE administrator_id = ${administratorId} AND code_hash = ${hashOf(vault, administratorId, code)}`);
  return row !== undefined;
}

/** Uses a code of the account, and writes to the person. @returns whether this call used it */
export async function spendRecoveryCode(
  tx: Transaction,
  { vault }: VaultDeps,
  { administratorId, now }: FactorCheck,
  code: string,
): Promise<boolean> {
  const count = await tx.run(sql`DELETE FROM recovery_codes
    WHERE administrator_id = ${administratorId} AND code_hash = ${hashOf(vault, administratorId, code)}`);
  if (count === 0) return false;
  await mailAboutFactors(tx, vault, 'administrator_recovery_code_used', administratorId, now);
  return true;
}
