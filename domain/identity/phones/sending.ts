/**
 * The step of a code to a telephone number: claim, post, record (ENG-2). The number and the code exist only in the body of the request. The
 * message has the id of the row, so that a receiver recognizes a repetition.
 */
import { PhoneCode } from '../../../entities/identity/phone-code.ts';
import type { PhoneCodeStatus } from '../../../entities/identity/values.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { defineLease, runStep, type Claim } from '../../../platform/engine/lease.ts';
import type { Database, Queries } from '../../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../../platform/infra/postgres/sql.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import { languageOf } from '../../language/languages.ts';
import { wordingIn } from '../../language/wording.ts';
import { isFinal, phoneCodeRules, waitAfterPhoneAttempt } from './codes.policy.ts';
import { phoneCodeText } from './codes.ts';
import { numberKeyOf } from './numbers.ts';

/** The answer of the receiver. It must contain no text of the receiver, because such a text may repeat the number. */
export interface PhoneAnswer {
  outcome: string;
  responseStatus?: number;
  /** Set if no response arrived, such as `ECONNREFUSED`. */
  errorCode?: string;
}

export interface PhoneCodeDeps {
  db: Database;
  vault: Vault;
  /** Posts a signed message to `PHONE_CODE_URL`. Undefined without this setting: a waiting code is then canceled. */
  postCode: ((message: { id: Id; body: string }) => Promise<PhoneAnswer>) | undefined;
  /** Gets the outcome of each attempt, for metrics and log. */
  onOutcome: (outcome: 'sent' | 'failed' | 'canceled', answer?: PhoneAnswer) => void;
}

export type PhoneCodeStep = { done: true; outcome: PhoneCodeStatus } | { done: false; at: number; attempt: number };

interface ClaimedCode extends Claim {
  attemptCount: number;
  numberKey: Buffer;
  keyId: Buffer;
  expiresAt: Date;
  phone: string | null;
  language: string | null;
}

const { leaseSeconds } = phoneCodeRules;
const lease = defineLease(PhoneCode, { open: { status: 'pending' }, due: 'nextAttemptAt', seconds: leaseSeconds });

const claimedCode = sql`
  SELECT ${columns(PhoneCode, ['id', 'fence', 'attemptCount', 'numberKey', 'keyId', 'expiresAt'], 'claimed')},
         administrator.phone, administrator.language
    FROM claimed JOIN administrators administrator ON administrator.id = claimed.administrator_id`;

/** Advances the code by one step. @param now Unix milliseconds */
export function sendPhoneCode(deps: PhoneCodeDeps, id: Id, now: number): Promise<PhoneCodeStep> {
  return runStep({
    claim: () => lease.claim<ClaimedCode>(deps.db, id, now, claimedCode),
    act: (claimed) => send(deps, claimed, now),
    state: () => readState(deps.db, id, now),
  });
}

async function send(deps: PhoneCodeDeps, claimed: ClaimedCode, now: number): Promise<void> {
  const { vault, postCode } = deps;
  const { phone, keyId, expiresAt } = claimed;
  const isValid = phone !== null && expiresAt.getTime() > now && numberKeyOf(vault, phone).equals(claimed.numberKey);
  if (!postCode || !isValid || !vault.has(keyId)) return record(deps, claimed, 'canceled', now);
  const answer = await postCode({ id: claimed.id, body: bodyOf(vault, { ...claimed, phone }, now) });
  const isSent = answer.outcome === 'succeeded';
  await record(deps, claimed, isSent ? 'sent' : 'failed', now, answer);
}

/** @returns the JSON that the receiver gets. `text` is ready to be sent in a message */
function bodyOf(
  vault: Vault,
  { id, keyId, phone, language, expiresAt }: ClaimedCode & { phone: string },
  now: number,
): string {
  const wording = wordingIn(languageOf(language));
  const code = phoneCodeText(vault, id, keyId);
  return JSON.stringify({
    type: 'phone.code',
    timestamp: new Date(now).toISOString(),
    data: {
      phone,
      code,
      language: wording.language,
      text: wording.say('phone.code', { code }),
      expires_at: expiresAt.toISOString(),
    },
  });
}

async function record(
  { db, onOutcome }: PhoneCodeDeps,
  claimed: ClaimedCode,
  outcome: 'sent' | 'failed' | 'canceled',
  now: number,
  answer?: PhoneAnswer,
): Promise<void> {
  onOutcome(outcome, answer);
  const attemptCount = claimed.attemptCount + 1;
  const mayRetry = outcome === 'failed' && !isFinal(answer?.responseStatus);
  const wait = mayRetry ? waitAfterPhoneAttempt(attemptCount) : undefined;
  const isOver = wait === undefined || now + wait >= claimed.expiresAt.getTime();
  await lease.record(db, claimed, {
    attemptCount,
    status: isOver ? outcome : 'pending',
    nextAttemptAt: new Date(now + (wait ?? 0)),
  });
}

async function readState(db: Queries, id: Id, now: number): Promise<PhoneCodeStep> {
  const row = await db.one<{ status: PhoneCodeStatus; attemptCount: number; at: Date }>(
    sql`SELECT ${columns(PhoneCode, ['status', 'attemptCount'])}, greatest(next_attempt_at, lease_until) AS at
          FROM phone_codes WHERE id = ${id}`,
  );
  if (row?.status === 'pending')
    return { done: false, at: Math.max(row.at.getTime(), now), attempt: row.attemptCount + 1 };
  return { done: true, outcome: row?.status ?? 'canceled' };
}
