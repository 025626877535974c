/** A proof in a session: the person shows a factor again before a sensitive action (FAC-8). It concerns this session only. */
import type { RecordOf } from '../../../contract/contract.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { sha256 } from '../../../platform/infra/keys/vault.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { VaultDeps } from '../../deps.ts';
import { passwordMatches } from '../passwords/passwords.ts';
import { freshForMs } from '../sessions/sign-in-rules.policy.ts';
import { lockAccount, noteSecondFactor, type FactorOwner } from './factors.ts';
import { invalidFactor, requireRightFactor, useFactor } from './methods.ts';

type ProofInput = RecordOf<'ProofInput'>;
type Proof = RecordOf<'Proof'>;

/**
 * Records that the person has just proved who they are: by the password, or by a second factor.
 * @param sessionId the public id of the session
 * @throws DomainError invalid_credentials; invalid_request unless exactly one factor is shown
 */
export async function prove(
  deps: VaultDeps,
  owner: FactorOwner,
  sessionId: Id,
  { password, ...factor }: ProofInput,
  now: Date,
): Promise<Proof> {
  const isPassword = password !== undefined;
  if (isPassword && Object.values(factor).some((one) => one !== undefined))
    throw new DomainError('invalid_request', 'Send either the password or one second factor.');
  await (isPassword ? proveByPassword(deps, owner, password, now) : proveByFactor(deps, owner, sessionId, factor, now));
  const freshUntil = new Date(now.getTime() + freshForMs).toISOString();
  return { fresh_until: freshUntil, with_second_factor: !isPassword };
}

async function proveByPassword(
  { db }: VaultDeps,
  { id, sessionToken }: FactorOwner,
  password: string,
  now: Date,
): Promise<void> {
  const account = await db.one<{ passwordHash: string | null }>(
    sql`SELECT password_hash AS "passwordHash" FROM administrators WHERE id = ${id}`,
  );
  const passwordHash = account?.passwordHash ?? null;
  if (!(await passwordMatches(password, passwordHash))) throw invalidFactor();
  await db.transaction(async (tx) => {
    // Comparing passwords takes time. If the password was changed meanwhile, the proof fails.
    const unchanged = await tx.one(
      sql`SELECT 1 FROM administrators WHERE id = ${id} AND password_hash = ${passwordHash} FOR SHARE`,
    );
    if (!unchanged) throw invalidFactor();
    await tx.run(sql`UPDATE administrator_sessions SET proved_at = ${now} WHERE token_hash = ${sha256(sessionToken)}`);
  });
}

async function proveByFactor(
  deps: VaultDeps,
  { id: administratorId, sessionToken }: FactorOwner,
  sessionId: Id,
  proof: Omit<ProofInput, 'password'>,
  now: Date,
): Promise<void> {
  const check = { administratorId, occasion: sessionId, now };
  await requireRightFactor(deps, check, proof);
  await deps.db.transaction(async (tx) => {
    await lockAccount(tx, administratorId);
    await useFactor(tx, deps, check, proof);
    await noteSecondFactor(tx, sessionToken, now);
  });
}
