/** Finishes a sign-in: the challenge and a second factor open the session (FAC-3). */
import type { RecordOf } from '../../../contract/contract.ts';
import { newId } from '../../../platform/core/ids.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { StudentDeps } from '../../deps.ts';
import { openAdministratorSession, sessionAfterFirstFactor } from '../accounts/administrator-accounts.ts';
import { offerFactor } from '../passkeys/passkey-factor.ts';
import type { PasskeyDeps } from '../passkeys/registration.ts';
import type { Client } from '../sessions/sessions.ts';
import { findChallenge, spendChallenge, type PendingSignIn } from './challenges.ts';
import { invalidFactor, requireRightFactor, useFactor } from './methods.ts';

/**
 * @param pending of the challenge; undefined for an unknown challenge, whose answer takes equal time
 * @throws DomainError invalid_credentials, if the challenge or the factor is wrong, used, expired or of another account; invalid_request
 */
export async function finishSignIn(
  deps: PasskeyDeps & StudentDeps,
  pending: PendingSignIn | undefined,
  { challenge, ...proof }: RecordOf<'SecondFactorSignIn'>,
  client: Client,
  now: Date,
): Promise<RecordOf<'AdministratorSession'>> {
  const administratorId = pending?.administratorId ?? newId();
  const check = { administratorId, occasion: challenge, now };
  await requireRightFactor(deps, check, proof);
  if (!pending) throw invalidFactor();
  const result = await deps.db.transaction(async (tx) => {
    // Changes of password and factors lock the account first, too. Otherwise they and this transaction could wait for each other.
    await tx.run(sql`SELECT 1 FROM administrators WHERE id = ${administratorId} FOR SHARE`);
    if (!(await spendChallenge(tx, challenge, now))) throw invalidFactor();
    await useFactor(tx, deps, check, proof);
    const { openedBy, providerId, clubId } = pending;
    const provider = providerId !== null && { provider: { id: providerId, clubId } };
    const origin = { openedBy, ...provider, withSecondFactor: true, ...client };
    return openAdministratorSession(tx, deps, administratorId, origin, now);
  });
  return sessionAfterFirstFactor(result);
}

/**
 * Returns the options with which a passkey answers a challenge.
 * @throws DomainError invalid_credentials if the challenge is wrong, used or expired
 */
export async function offerPasskeyForSignIn(
  deps: PasskeyDeps,
  challenge: string,
  now: Date,
): Promise<RecordOf<'PasskeyRequestOptions'>> {
  const pending = await findChallenge(deps.db, challenge, now);
  if (!pending) throw invalidFactor();
  return offerFactor(deps, { administratorId: pending.administratorId, occasion: challenge, now });
}
