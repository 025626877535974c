/** Adds an authenticator app to an account: first its secret, then a code that proves that the app has the secret (FAC-4). */
import { Secret as TotpSecret, TOTP } from 'otpauth';
import { SecondFactor } from '../../../entities/identity/second-factor.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { plainName } from '../../../platform/core/text/names.ts';
import { columns, sql } from '../../../platform/infra/postgres/sql.ts';
import type { AddressedDeps, VaultDeps } from '../../deps.ts';
import {
  completeEnrollment,
  factorRules,
  lockAccount,
  noSuchFactor,
  requireRoomForFactor,
  type FactorOwner,
} from './factors.ts';
import { invalidFactor } from './methods.ts';
import { newTotpSecret, stepOfCode, totpSettings } from './totp.ts';

/**
 * Begins to add an app. It replaces an app that was begun before and not confirmed, so an account has at most one of them.
 * @returns the secret, which is shown only here
 * @throws DomainError factor_limit_reached, invalid_request
 */
export async function beginTotp(
  { db, vault, publicUrl }: AddressedDeps,
  administratorId: Id,
  input: RecordOf<'SecondFactorName'>,
  now: Date,
): Promise<RecordOf<'TotpSetup'>> {
  const name = plainName(input.name);
  return db.transaction(async (tx) => {
    await lockAccount(tx, administratorId);
    await requireRoomForFactor(tx, administratorId);
    await tx.run(sql`DELETE FROM second_factors
      WHERE administrator_id = ${administratorId} AND kind = 'totp' AND confirmed_at IS NULL`);
    const [id, secret] = [newId(), newTotpSecret()];
    const row = { id, administratorId, kind: 'totp', name, secret: vault.seal(secret, id), createdAt: now } as const;
    await tx.manager.insert(SecondFactor, row);
    const account = await tx.one<{ email: string }>(
      sql`SELECT email FROM administrators WHERE id = ${administratorId} AND removed_at IS NULL`,
    );
    const expiresAt = new Date(now.getTime() + factorRules.setupLifetimeMs);
    const uri = uriOf(secret, { issuer: new URL(publicUrl).hostname, label: account?.email ?? '' });
    return { id, secret, uri, expires_at: expiresAt.toISOString() };
  });
}

const uriOf = (secret: string, names: { issuer: string; label: string }) =>
  new TOTP({ ...totpSettings, ...names, secret: TotpSecret.fromBase32(secret) }).toString();

/**
 * Confirms an app by its code. The code is then used, so it opens no session.
 * @throws DomainError not_found if no app of the account waits for a code; invalid_credentials if the code is wrong; factor_limit_reached
 */
export async function confirmTotp(
  deps: VaultDeps,
  owner: FactorOwner,
  { factorId, code }: { factorId: Id; code: string },
  now: Date,
): Promise<RecordOf<'EnrolledSecondFactor'>> {
  return deps.db.transaction(async (tx) => {
    await lockAccount(tx, owner.id);
    const earliest = new Date(now.getTime() - factorRules.setupLifetimeMs);
    const factor = await tx.one<Pick<SecondFactor, 'secret'>>(sql`SELECT ${columns(SecondFactor, ['secret'])}
       FROM second_factors WHERE id = ${factorId} AND administrator_id = ${owner.id} AND kind = 'totp'
        AND confirmed_at IS NULL AND created_at > ${earliest}`);
    if (!factor?.secret) throw noSuchFactor();
    await requireRoomForFactor(tx, owner.id);
    const step = stepOfCode(deps.vault.open(factor.secret, factorId), code, null, now);
    if (step === undefined) throw invalidFactor();
    await tx.run(sql`UPDATE second_factors SET confirmed_at = ${now}, last_used_at = ${now}, last_step = ${step}
      WHERE id = ${factorId}`);
    return completeEnrollment(tx, deps, owner, factorId, now);
  });
}
