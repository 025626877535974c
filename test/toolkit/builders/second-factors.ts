/** Builds administrators with a second factor, and the codes that they show. */
import { Secret as TotpSecret, TOTP } from 'otpauth';
import { newTotpSecret, totpSettings } from '../../../domain/identity/factors/totp.ts';
import { replaceRecoveryCodes } from '../../../domain/identity/factors/recovery-codes.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { testDeps } from '../stack/database.ts';

export interface TestSecondFactor {
  id: Id;
  /** In base32. */
  secret: string;
  recoveryCodes: string[];
}

/** Gives an account an authenticator app and ten recovery codes. */
export async function buildSecondFactor(administratorId: Id, otherVault?: Vault): Promise<TestSecondFactor> {
  const deps = await testDeps();
  const { db, vault } = { ...deps, vault: otherVault ?? deps.vault };
  const [id, secret, now] = [newId(), newTotpSecret(), new Date()];
  const recoveryCodes = await db.transaction(async (tx) => {
    await tx.run(sql`INSERT INTO second_factors (id, administrator_id, kind, name, secret, created_at, confirmed_at)
      VALUES (${id}, ${administratorId}, 'totp', 'Phone', ${vault.seal(secret, id)}, ${now}, ${now})`);
    await tx.run(sql`UPDATE administrators SET has_second_factor = true WHERE id = ${administratorId}`);
    return replaceRecoveryCodes(tx, { vault }, administratorId, now);
  });
  return { id, secret, recoveryCodes };
}

/** @param stepsOff 0 for the code that the app shows now, 1 for the next one @returns six digits */
export function totpCodeOf({ secret }: Pick<TestSecondFactor, 'secret'>, stepsOff = 0, at = Date.now()): string {
  const totp = new TOTP({ ...totpSettings, secret: TotpSecret.fromBase32(secret) });
  return totp.generate({ timestamp: at + stepsOff * totpSettings.period * 1_000 });
}

/** @returns six digits that are no code of the app around this time */
export function wrongTotpCodeOf(factor: Pick<TestSecondFactor, 'secret'>, at = Date.now()): string {
  const codes = [-2, -1, 0, 1, 2].map((stepsOff) => totpCodeOf(factor, stepsOff, at));
  return ['000000', '111111', '222222', '333333', '444444', '555555'].find((code) => !codes.includes(code)) ?? '';
}
