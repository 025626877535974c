/** Signs people in with a passkey alone: the authenticator names the account, and the person types nothing (PKY-4). */
import type { RecordOf } from '../../../contract/contract.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { StudentDeps } from '../../deps.ts';
import { openAdministratorSession, sessionAfterFirstFactor } from '../accounts/administrator-accounts.ts';
import { RefusalToPerson } from '../../language/refusal.ts';
import { openStudentSession } from '../accounts/student-accounts.ts';
import type { Client } from '../sessions/sessions.ts';
import {
  checkAssertion,
  findAdministratorPasskey,
  findStudentPasskey,
  requestOptions,
  useAssertion,
} from './assertions.ts';
import { issueChallenge } from './challenges.ts';
import type { PasskeyDeps } from './registration.ts';
import { originOf } from './sites.policy.ts';

type Assertion = RecordOf<'PasskeyAssertion'>;
type Options = RecordOf<'PasskeyRequestOptions'>;

/** The error is the same for every fault. */
const passkeyRefused = () => new RefusalToPerson('invalid_credentials', 'refusal.passkey_refused');

/** @returns the options of `navigator.credentials.get()`. They name no account, so they are alike for all accounts */
export function offerAdministratorSignIn({ vault, passkeySites }: PasskeyDeps, now: Date): Options {
  return requestOptions(passkeySites.dashboard.rpId, issueChallenge(vault, { use: 'administrator sign-in' }, now));
}

/** @returns the options. The function does not look the club up, so they are alike for a club that does not exist */
export function offerStudentSignIn({ vault, passkeySites }: PasskeyDeps, clubId: Id, now: Date): Options {
  return requestOptions(passkeySites.classroom.rpId, issueChallenge(vault, { use: 'student sign-in', clubId }, now));
}

/**
 * Opens a session of an administrator. The authenticator has verified the person, so the passkey counts as both factors.
 * @throws DomainError invalid_credentials for every fault
 */
export async function signInAdministratorWithPasskey(
  { db, vault, storage, passkeySites: { dashboard } }: PasskeyDeps & StudentDeps,
  assertion: Assertion,
  client: Client,
  now: Date,
): Promise<RecordOf<'AdministratorSession'>> {
  const use = { use: 'administrator sign-in' } as const;
  const expected = { use, rpId: dashboard.rpId, origin: originOf(dashboard), needsHandle: true };
  const passkey = await findAdministratorPasskey(db, assertion.id);
  const checked = await checkAssertion(vault, assertion, expected, passkey, now);
  if (!checked) throw passkeyRefused();
  const result = await db.transaction(async (tx) => {
    await tx.one(sql`SELECT 1 FROM administrators WHERE id = ${checked.ownerId} FOR NO KEY UPDATE`);
    if (!(await useAssertion(tx, checked, now))) throw passkeyRefused();
    const origin = { openedBy: 'passkey', withSecondFactor: true, ...client } as const;
    return openAdministratorSession(tx, { storage, vault }, checked.ownerId, origin, now);
  });
  return sessionAfterFirstFactor(result);
}

/** Opens a session of a student of the club. @throws DomainError invalid_credentials for every fault */
export async function signInStudentWithPasskey(
  { db, vault, storage, passkeySites: { classroom } }: PasskeyDeps & StudentDeps,
  { club_id: clubId, passkey: assertion }: { club_id: Id; passkey: Assertion },
  client: Client,
  now: Date,
): Promise<RecordOf<'StudentSession'>> {
  const use = { use: 'student sign-in', clubId } as const;
  const { slug, passkey } = await findStudentPasskey(db, clubId, assertion.id);
  const expected = { use, rpId: classroom.rpId, origin: originOf(classroom, slug), needsHandle: true };
  const checked = await checkAssertion(vault, assertion, expected, passkey, now);
  if (!checked) throw passkeyRefused();
  return db.transaction(async (tx) => {
    // The student may have been removed after the check.
    const living = await tx.one(
      sql`SELECT 1 FROM students WHERE id = ${checked.ownerId} AND removed_at IS NULL FOR NO KEY UPDATE`,
    );
    if (!living || !(await useAssertion(tx, checked, now))) throw passkeyRefused();
    return openStudentSession(tx, storage, checked.ownerId, { openedBy: 'passkey', ...client }, now);
  });
}
