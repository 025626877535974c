/** Checks the codes of authenticator apps (RFC 6238). Each code is accepted once (FAC-5). */
import { Secret as TotpSecret, TOTP } from 'otpauth';
import { SecondFactor } from '../../../entities/identity/second-factor.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../../platform/infra/postgres/sql.ts';
import type { VaultDeps } from '../../deps.ts';
import type { FactorCheck } from './methods.ts';

/** The parameters that every authenticator app supports. */
export const totpSettings = { algorithm: 'SHA1', digits: 6, period: 30 } as const;
/** The codes of the previous and the next step are accepted too, because clocks differ. */
const stepsOff = 1;
/** RFC 4226 recommends 160 bits. */
const secretBytes = 20;

const sixDigits = /^[0-9]{6}$/;

/** @returns a new secret, in base32 */
export const newTotpSecret = (): string => new TotpSecret({ size: secretBytes }).base32;

/** @returns the time step of a moment: the number of periods since 1970 */
export const stepAt = (now: Date): number => Math.floor(now.getTime() / 1_000 / totpSettings.period);

/**
 * @param secret in base32
 * @param lastStep of the last accepted code; null for none
 * @returns the time step of the code; undefined if the code is wrong, or its step is not later than the last one
 */
export function stepOfCode(secret: string, code: string, lastStep: number | null, now: Date): number | undefined {
  if (!sixDigits.test(code)) return undefined; // the library throws on other digits than ASCII
  const totp = new TOTP({ ...totpSettings, secret: TotpSecret.fromBase32(secret) });
  const delta = totp.validate({ token: code, timestamp: now.getTime(), window: stepsOff });
  if (delta === null) return undefined;
  const step = stepAt(now) + delta;
  return lastStep === null || step > lastStep ? step : undefined;
}

export async function hasTotp(db: Queries, administratorId: Id): Promise<boolean> {
  const factor = await db.one(sql`SELECT 1 FROM second_factors
    WHERE administrator_id = ${administratorId} AND kind = 'totp' AND confirmed_at IS NOT NULL LIMIT 1`);
  return factor !== undefined;
}

/** An account without an app is checked against this secret, so that its answer takes equal time. */
const imitatedSecret = newTotpSecret();

interface App {
  id: Id;
  secret: Buffer;
  lastStep: number | null;
}

const confirmedApps = (administratorId: Id) =>
  sql`SELECT ${columns(SecondFactor, ['id', 'secret', 'lastStep'])} FROM second_factors
       WHERE administrator_id = ${administratorId} AND kind = 'totp' AND confirmed_at IS NOT NULL ORDER BY id`;

/** @returns the app that shows this code now, and the time step of the code; undefined if the code is wrong or used */
function findAppOfCode(
  { vault }: VaultDeps,
  apps: readonly App[],
  code: string,
  now: Date,
): { id: Id; step: number } | undefined {
  if (apps.length === 0) stepOfCode(vault.open(vault.seal(imitatedSecret, ''), ''), code, null, now);
  let found: { id: Id; step: number } | undefined;
  for (const { id, secret, lastStep } of apps) {
    const step = stepOfCode(vault.open(secret, id), code, lastStep, now);
    if (step !== undefined) found = { id, step };
  }
  return found;
}

/** @returns whether the code is right and new */
export async function isTotpCode(
  db: Queries,
  deps: VaultDeps,
  { administratorId, now }: FactorCheck,
  code: string,
): Promise<boolean> {
  const apps = await db.rows<App>(confirmedApps(administratorId));
  return findAppOfCode(deps, apps, code, now) !== undefined;
}

/**
 * Checks a code, and records its step. Simultaneous uses of one code wait for each other, and only one succeeds.
 * @returns whether the code is right and new
 */
export async function useTotpCode(
  tx: Transaction,
  deps: VaultDeps,
  { administratorId, now }: FactorCheck,
  code: string,
): Promise<boolean> {
  const apps = await tx.rows<App>(sql`${confirmedApps(administratorId)} FOR NO KEY UPDATE`);
  const found = findAppOfCode(deps, apps, code, now);
  if (!found) return false;
  await tx.run(sql`UPDATE second_factors SET last_step = ${found.step}, last_used_at = ${now} WHERE id = ${found.id}`);
  return true;
}
