/** The second factors of an administrator: lists, renames and removes them, and completes their enrollment (FAC-4). */
import { accountErased } from '../accounts/credentials.ts';
import { RecoveryCode } from '../../../entities/identity/recovery-code.ts';
import { SecondFactor } from '../../../entities/identity/second-factor.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { plainName } from '../../../platform/core/text/names.ts';
import { sha256 } from '../../../platform/infra/keys/vault.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns, sql, type RowOf } from '../../../platform/infra/postgres/sql.ts';
import type { VaultDeps } from '../../deps.ts';
import { lastSignInMethod } from '../providers/refusals.ts';
import { mailAboutFactors } from './mails.ts';
import { countRecoveryCodes, replaceRecoveryCodes } from './recovery-codes.ts';

export const factorRules = {
  /** Authenticator apps and passkeys together. */
  perAccount: 10,
  /** An authenticator app must show its first code within this time. */
  setupLifetimeMs: 15 * 60_000,
} as const;

const factorColumns = columns(SecondFactor, ['id', 'kind', 'name', 'createdAt', 'lastUsedAt']);
type FactorRow = RowOf<typeof factorColumns>;

/** The administrator who acts, and the token of the session. */
export interface FactorOwner {
  readonly id: Id;
  readonly sessionToken: string;
}

/** There is no such factor of this account. Factors of others answer alike. */
export const noSuchFactor = () => new DomainError('not_found', 'Your account has no such second factor.');

/**
 * Locks the account, so that changes of its factors run one after another, and no sign-in reads a state between them.
 * @throws DomainError unauthenticated, if the account was erased meanwhile
 */
export async function lockAccount(tx: Transaction, administratorId: Id): Promise<{ hasSecondFactor: boolean }> {
  const account = await tx.one<{ hasSecondFactor: boolean }>(
    sql`SELECT has_second_factor AS "hasSecondFactor" FROM administrators
         WHERE id = ${administratorId} AND removed_at IS NULL FOR NO KEY UPDATE`,
  );
  if (!account) throw accountErased();
  return account;
}

/** @returns the confirmed factors, the oldest first, and the number of recovery codes that are left */
export async function listFactors(db: Queries, administratorId: Id): Promise<RecordOf<'SecondFactors'>> {
  const rows = await db.rows<FactorRow>(sql`SELECT ${factorColumns} FROM second_factors
    WHERE administrator_id = ${administratorId} AND confirmed_at IS NOT NULL ORDER BY created_at, id`);
  return { factors: rows.map(presentFactor), recovery_codes_left: await countRecoveryCodes(db, administratorId) };
}

/** @throws DomainError not_found, invalid_request */
export async function renameFactor(
  { db }: VaultDeps,
  administratorId: Id,
  factorId: Id,
  name: string,
): Promise<RecordOf<'SecondFactor'>> {
  const row = await db.one<FactorRow>(sql`UPDATE second_factors SET name = ${plainName(name)}
    WHERE id = ${factorId} AND administrator_id = ${administratorId} AND confirmed_at IS NOT NULL RETURNING ${factorColumns}`);
  if (!row) throw noSuchFactor();
  return presentFactor(row);
}

/** @throws DomainError factor_limit_reached if the locked account has as many factors as it may have */
export async function requireRoomForFactor(tx: Transaction, administratorId: Id): Promise<void> {
  const row = await tx.one<{ count: number }>(sql`SELECT count(*)::int AS count FROM second_factors
    WHERE administrator_id = ${administratorId} AND confirmed_at IS NOT NULL`);
  if ((row?.count ?? 0) >= factorRules.perAccount)
    throw new DomainError('factor_limit_reached', `An account has at most ${factorRules.perAccount} second factors.`);
}

/**
 * Completes the enrollment of a confirmed factor, in the transaction that confirms it: the account has a second factor from now on, this
 * session has shown it, and the person gets a mail. The first factor of an account comes with recovery codes.
 * @returns the factor, and the recovery codes if they are new
 */
export async function completeEnrollment(
  tx: Transaction,
  { vault }: VaultDeps,
  { id, sessionToken }: FactorOwner,
  factorId: Id,
  now: Date,
): Promise<RecordOf<'EnrolledSecondFactor'>> {
  await tx.run(sql`UPDATE administrators SET has_second_factor = true WHERE id = ${id}`);
  await noteSecondFactor(tx, sessionToken, now);
  await mailAboutFactors(tx, vault, 'administrator_factor_added', id, now);
  const row = await tx.one<FactorRow>(sql`SELECT ${factorColumns} FROM second_factors WHERE id = ${factorId}`);
  if (!row) throw noSuchFactor();
  const hasCodes = (await countRecoveryCodes(tx, id)) > 0;
  const codes = hasCodes ? {} : { recovery_codes: await replaceRecoveryCodes(tx, { vault }, id, now) };
  return { factor: presentFactor(row), ...codes };
}

/** Records that the person has just shown a second factor in this session. */
export async function noteSecondFactor(tx: Queries, sessionToken: string, now: Date): Promise<void> {
  await tx.run(
    sql`UPDATE administrator_sessions SET proved_at = ${now}, second_factor_at = ${now} WHERE token_hash = ${sha256(sessionToken)}`,
  );
}

/**
 * Removes a factor. After the last one, the account has no second factor: its recovery codes end, and no session counts as one with a
 * second factor any more. So clubs that require a second factor refuse these sessions.
 * @throws DomainError not_found; last_sign_in_method (OIDC-9)
 */
export async function removeFactor(deps: VaultDeps, administratorId: Id, factorId: Id, now: Date): Promise<void> {
  await deps.db.transaction(async (tx) => {
    await lockAccount(tx, administratorId);
    const [removed] = await tx.rows<Pick<SecondFactor, 'kind'>>(sql`DELETE FROM second_factors
      WHERE id = ${factorId} AND administrator_id = ${administratorId} AND confirmed_at IS NOT NULL
  RETURNING ${columns(SecondFactor, ['kind'])}`);
    if (!removed) throw noSuchFactor();
    if (removed.kind === 'passkey') await requireWayToSignIn(tx, administratorId);
    const { factors } = await listFactors(tx, administratorId);
    if (factors.length === 0) await endSecondFactors(tx, administratorId);
    await mailAboutFactors(tx, deps.vault, 'administrator_factor_removed', administratorId, now);
  });
}

/** A passkey opens a session alone, so it can be the last way to sign in. @throws DomainError last_sign_in_method */
async function requireWayToSignIn(tx: Transaction, administratorId: Id): Promise<void> {
  const way = await tx.one(sql`SELECT 1 FROM administrators WHERE id = ${administratorId} AND (password_hash IS NOT NULL
      OR EXISTS (SELECT FROM administrator_identities identity WHERE identity.administrator_id = administrators.id)
      OR EXISTS (SELECT FROM second_factors factor
                  WHERE factor.administrator_id = administrators.id AND factor.kind = 'passkey' AND factor.confirmed_at IS NOT NULL))`);
  if (!way) throw lastSignInMethod('This passkey is the last way to sign in. Set a password first.');
}

/** Records that the locked account has no second factor any more. */
export async function endSecondFactors(tx: Transaction, administratorId: Id): Promise<void> {
  await tx.manager.delete(RecoveryCode, { administratorId });
  await tx.run(sql`UPDATE administrator_sessions SET second_factor_at = NULL
    WHERE administrator_id = ${administratorId} AND second_factor_at IS NOT NULL`);
  await tx.run(sql`UPDATE administrators SET has_second_factor = false WHERE id = ${administratorId}`);
}

/** Replaces the recovery codes. @throws DomainError no_second_factor */
export async function renewRecoveryCodes(
  { db, vault }: VaultDeps,
  administratorId: Id,
  now: Date,
): Promise<RecordOf<'RecoveryCodes'>> {
  return db.transaction(async (tx) => {
    const { hasSecondFactor } = await lockAccount(tx, administratorId);
    if (!hasSecondFactor)
      throw new DomainError(
        'no_second_factor',
        'Recovery codes replace a second factor. Add one to your account first.',
      );
    const codes = await replaceRecoveryCodes(tx, { vault }, administratorId, now);
    await mailAboutFactors(tx, vault, 'administrator_recovery_codes_replaced', administratorId, now);
    return { recovery_codes: codes };
  });
}

function presentFactor({ id, kind, name, createdAt, lastUsedAt }: FactorRow): RecordOf<'SecondFactor'> {
  const lastUse = lastUsedAt === null ? {} : { last_used_at: lastUsedAt.toISOString() };
  return { id, kind, name, created_at: createdAt.toISOString(), ...lastUse };
}

const setupsPerBatch = 1_000;

/** Removes a batch of factors that were never confirmed. @returns the number of factors, and whether there may be more to do now */
export async function removeUnconfirmedFactors(
  db: Queries,
  now: Date,
): Promise<{ rows: { unconfirmedFactors: number }; more: boolean }> {
  const before = new Date(now.getTime() - 2 * factorRules.setupLifetimeMs);
  const count = await db.run(sql`DELETE FROM second_factors WHERE id IN (
    SELECT id FROM second_factors WHERE confirmed_at IS NULL AND created_at <= ${before}
     ORDER BY created_at LIMIT ${setupsPerBatch} FOR UPDATE SKIP LOCKED)`);
  return { rows: { unconfirmedFactors: count }, more: count >= setupsPerBatch };
}
