/** A passkey as the second factor of an administrator, after a first factor or in a session (PKY-7). */
import type { RecordOf } from '../../../contract/contract.ts';
import { Passkey } from '../../../entities/identity/passkey.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../../platform/infra/postgres/sql.ts';
import {
  checkAssertion,
  descriptorOf,
  findAdministratorPasskey,
  requestOptions,
  useAssertion,
  type CheckedAssertion,
} from './assertions.ts';
import { issueChallenge } from './challenges.ts';
import type { PasskeyDeps } from './registration.ts';
import { originOf } from './sites.policy.ts';

/** The account that must own the passkey, and the occasion to which the answer is bound. */
interface PasskeyCheck {
  readonly administratorId: Id;
  readonly occasion: string;
  readonly now: Date;
}

type Assertion = RecordOf<'PasskeyAssertion'>;

/** @returns the credentials of an administrator, as browsers need them */
export async function credentialsOf(
  db: Queries,
  administratorId: Id,
): Promise<RecordOf<'PasskeyRequestOptions'>['allowCredentials']> {
  const rows = await db.rows<Pick<Passkey, 'credentialId' | 'transports'>>(sql`
    SELECT ${columns(Passkey, ['credentialId', 'transports'], 'passkey')}
      FROM passkeys passkey JOIN second_factors factor ON factor.id = passkey.factor_id
     WHERE factor.administrator_id = ${administratorId} ORDER BY passkey.created_at, passkey.id`);
  return rows.map(descriptorOf);
}

export async function hasPasskey(db: Queries, administratorId: Id): Promise<boolean> {
  return (await credentialsOf(db, administratorId)).length > 0;
}

/**
 * Only a person who has shown a first factor gets these options, because they name the passkeys of the account.
 * @returns the options of `navigator.credentials.get()`
 */
export async function offerFactor(
  { db, vault, passkeySites }: PasskeyDeps,
  { administratorId, occasion, now }: PasskeyCheck,
): Promise<RecordOf<'PasskeyRequestOptions'>> {
  const challenge = issueChallenge(vault, { use: 'second factor', occasion }, now);
  return requestOptions(passkeySites.dashboard.rpId, challenge, await credentialsOf(db, administratorId));
}

/** Takes equal time for an account that does not exist. @returns whether the answer is right. It changes nothing */
export async function isPasskeyAnswer(
  db: Queries,
  deps: PasskeyDeps,
  check: PasskeyCheck,
  assertion: Assertion,
): Promise<boolean> {
  return (await checkedAnswer(db, deps, check, assertion)) !== undefined;
}

/** Checks the answer, and uses it once. @returns whether it is right and new */
export async function usePasskeyAnswer(
  tx: Transaction,
  deps: PasskeyDeps,
  check: PasskeyCheck,
  assertion: Assertion,
): Promise<boolean> {
  const checked = await checkedAnswer(tx, deps, check, assertion);
  return checked !== undefined && (await useAssertion(tx, checked, check.now));
}

async function checkedAnswer(
  db: Queries,
  { vault, passkeySites: { dashboard } }: PasskeyDeps,
  { administratorId, occasion, now }: PasskeyCheck,
  assertion: Assertion,
): Promise<CheckedAssertion | undefined> {
  const found = await findAdministratorPasskey(db, assertion.id);
  const passkey = found?.ownerId === administratorId ? found : undefined;
  const use = { use: 'second factor', occasion } as const;
  const expected = { use, rpId: dashboard.rpId, origin: originOf(dashboard), needsHandle: false };
  return checkAssertion(vault, assertion, expected, passkey, now);
}
