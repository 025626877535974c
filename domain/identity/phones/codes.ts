/**
 * Codes that verify telephone numbers (SES-5). A code is derived from the id of its request, so neither the code nor its hash is stored.
 * Only the newest request of an administrator is valid.
 */
import { PhoneCode } from '../../../entities/identity/phone-code.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { wake } from '../../../platform/engine/wakes.ts';
import { sameText, type Vault } from '../../../platform/infra/keys/vault.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../../platform/infra/postgres/sql.ts';
import type { VaultDeps } from '../../deps.ts';
import { tokenGone } from '../../mail/codes/one-time-tokens.ts';
import { nextCodeAt, phoneCodeRules } from './codes.policy.ts';
import { numberKeyOf } from './numbers.ts';

/** Whether the deployment can send codes, and how many in 24 hours. */
export interface PhoneCodeSettings {
  isConfigured: boolean;
  perDay: number;
}

/** @returns the six digits of a request @throws Error if the process does not have the key */
export function phoneCodeText(vault: Vault, id: Id, keyId: Buffer): string {
  const derived = vault.derive(`phone code:${id}`, keyId);
  return String(derived.readUIntBE(0, 6) % 1_000_000).padStart(6, '0');
}

/**
 * Requests a code for the administrator's number, and withdraws the administrator's earlier codes.
 * @throws DomainError not_configured, not_found (the account has no number), rate_limited (SES-6)
 */
export async function requestPhoneCode(
  { db, vault, phoneCodes }: VaultDeps & { phoneCodes: PhoneCodeSettings },
  administratorId: Id,
  now: Date,
): Promise<void> {
  if (!phoneCodes.isConfigured)
    throw new DomainError('not_configured', 'This environment sends no codes to telephone numbers.');
  await db.transaction(async (tx) => {
    const number = await lockNumber(tx, administratorId);
    if (number === null) throw notFound('telephone number');
    const numberKey = numberKeyOf(vault, number);
    await requireFewCodes(tx, { administratorId, numberKey, perDay: phoneCodes.perDay }, now);
    await withdrawPhoneCodes(tx, administratorId, now);
    const code = {
      id: newId(),
      clubId: null,
      administratorId,
      numberKey,
      keyId: vault.keyId,
      triesLeft: phoneCodeRules.tries,
      nextAttemptAt: now,
      createdAt: now,
      expiresAt: new Date(now.getTime() + phoneCodeRules.lifetimeMs),
    };
    await tx.manager.insert(PhoneCode, code);
    await wake(tx, 'phoneCode', [code], now);
  });
}

/** Makes the administrator's codes invalid. A code that waits for its next attempt is not sent any more. */
export async function withdrawPhoneCodes(tx: Transaction, administratorId: Id, now: Date): Promise<void> {
  await tx.run(sql`
    UPDATE phone_codes SET expires_at = least(expires_at, ${now}), status = CASE WHEN status = 'pending' THEN 'canceled' ELSE status END
     WHERE administrator_id = ${administratorId} AND expires_at > ${now}`);
}

/**
 * Counts the codes under one lock of the whole deployment, so that requests at the same time cannot exceed a limit.
 * @throws DomainError rate_limited
 */
async function requireFewCodes(
  tx: Transaction,
  { administratorId, numberKey, perDay }: { administratorId: Id; numberKey: Buffer; perDay: number },
  now: Date,
): Promise<void> {
  await tx.run(sql`SELECT pg_advisory_xact_lock(hashtextextended('codes to telephone numbers', 0))`);
  const since = new Date(now.getTime() - phoneCodeRules.dayMs);
  const timesOf = async (condition: ReturnType<typeof sql>, limit: number) => {
    const rows = await tx.rows<{ at: Date }>(sql`
      SELECT created_at AS at FROM phone_codes WHERE created_at > ${since} AND ${condition} ORDER BY created_at DESC LIMIT ${limit}`);
    return rows.map(({ at }) => at);
  };
  const recent = {
    ofAdministrator: await timesOf(sql`administrator_id = ${administratorId}`, phoneCodeRules.ofAdministrator),
    ofNumber: await timesOf(sql`number_key = ${numberKey}`, phoneCodeRules.ofNumber),
    ofAll: await timesOf(sql`true`, perDay),
  };
  const nextAt = nextCodeAt(recent, perDay, now);
  if (nextAt === undefined) return;
  const retryAfterSeconds = Math.ceil((nextAt.getTime() - now.getTime()) / 1_000);
  throw new DomainError('rate_limited', `Too many codes were sent. Retry after ${retryAfterSeconds} seconds.`, {
    retryAfterSeconds,
  });
}

/**
 * Verifies the administrator's number by its newest code. A separate transaction counts the try, before the code is compared. So guesses
 * at the same time cannot exceed the limit. A repetition with the code that verified the number succeeds.
 * @throws DomainError token_gone, with the same answer for each code that is not valid
 */
export async function verifyPhone(
  { db, vault }: VaultDeps,
  administratorId: Id,
  code: string,
  now: Date,
): Promise<void> {
  const tried = await db.transaction((tx) => spendTry(tx, administratorId, now));
  if (!tried || !isRight(vault, tried, code)) throw tokenGone();
  await db.transaction(async (tx) => {
    const number = await lockNumber(tx, administratorId);
    if (number === null || !numberKeyOf(vault, number).equals(tried.numberKey)) throw tokenGone();
    const spent = await tx.run(sql`
      UPDATE phone_codes SET spent_at = coalesce(spent_at, ${now}), tries_left = least(tries_left + 1, ${phoneCodeRules.tries}), status = CASE WHEN status = 'pending' THEN 'canceled' ELSE status END
       WHERE id = ${tried.id} AND expires_at > ${now}`);
    if (spent === 0) throw tokenGone();
    await tx.run(
      sql`UPDATE administrators SET phone_verified_at = coalesce(phone_verified_at, ${now}) WHERE id = ${administratorId}`,
    );
  });
}

const triedColumns = columns(PhoneCode, ['id', 'keyId', 'numberKey']);
type TriedCode = Pick<PhoneCode, 'id' | 'keyId' | 'numberKey'>;

const isRight = (vault: Vault, { id, keyId }: TriedCode, code: string) =>
  vault.has(keyId) && sameText(code, phoneCodeText(vault, id, keyId));

/** @returns the newest code of the administrator, if it has not expired and still allows a try */
function spendTry(tx: Transaction, administratorId: Id, now: Date): Promise<TriedCode | undefined> {
  return tx.one<TriedCode>(sql`
    UPDATE phone_codes SET tries_left = tries_left - 1
     WHERE id = (SELECT id FROM phone_codes WHERE administrator_id = ${administratorId} ORDER BY created_at DESC, id DESC LIMIT 1)
       AND expires_at > ${now} AND tries_left > 0
    RETURNING ${triedColumns}`);
}

/** @returns the administrator's number; null if there is none */
async function lockNumber(tx: Transaction, administratorId: Id): Promise<string | null> {
  const account = await tx.one<{ phone: string | null }>(
    sql`SELECT phone FROM administrators WHERE id = ${administratorId} FOR NO KEY UPDATE`,
  );
  return account?.phone ?? null;
}

/** The largest number of requests that one batch removes. */
const batchSize = 1_000;

/** Removes a batch of requests that no limit counts any more. @returns the number of removed requests, and whether more may be due */
export async function removeOldPhoneCodes(
  db: Queries,
  now: Date,
): Promise<{ rows: { phoneCodes: number }; more: boolean }> {
  const phoneCodes = await db.run(sql`DELETE FROM phone_codes WHERE id IN (
    SELECT id FROM phone_codes WHERE created_at <= ${new Date(now.getTime() - phoneCodeRules.keptMs)}
     ORDER BY created_at LIMIT ${batchSize} FOR UPDATE SKIP LOCKED)`);
  return { rows: { phoneCodes }, more: phoneCodes >= batchSize };
}
