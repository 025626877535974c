/** Finishes a sign-in: the challenge and a second factor open the session (FAC-3). */
import type { RecordOf } from '../../../contract/contract.ts';
import { newId } from '../../../platform/core/ids.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { VaultDeps } from '../../deps.ts';
import { openAdministratorSession, sessionAfterFirstFactor } from '../accounts/administrator-accounts.ts';
import type { Client } from '../sessions/sessions.ts';
import { spendChallenge, type PendingSignIn } from './challenges.ts';
import { invalidFactor, requireRightFactor, useFactor } from './methods.ts';

/**
 * @param pending of the challenge; undefined for an unknown challenge, whose answer takes equal time
 * @throws DomainError invalid_credentials, if the challenge or the factor is wrong, used, expired or of another account; invalid_request
 */
export async function finishSignIn(
  deps: VaultDeps,
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
    return openAdministratorSession(tx, administratorId, origin, now);
  });
  return sessionAfterFirstFactor(result);
}
