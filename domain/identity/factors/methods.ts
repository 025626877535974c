/** The ways to show a second factor, as a table. A new method needs one entry here, and its member in `SecondFactorSignIn` of the contract. */
import type { RecordOf } from '../../../contract/contract.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import type { VaultDeps } from '../../deps.ts';
import { hasRecoveryCodes, isRecoveryCode, spendRecoveryCode } from './recovery-codes.ts';
import { hasTotp, isTotpCode, useTotpCode } from './totp.ts';

export type FactorMethod = RecordOf<'SecondFactorChallenge'>['methods'][number];
/** The second factor that a request contains: exactly one member is present. */
export type FactorProof = Pick<RecordOf<'SecondFactorSignIn'>, 'code' | 'recovery_code'>;

/** The account that must own the factor. It may not exist. */
export interface FactorCheck {
  readonly administratorId: Id;
  /** The occasion to which a signed factor must be bound: the token of the challenge of a sign-in, or the id of a session. */
  readonly occasion: string;
  readonly now: Date;
}

interface Method {
  readonly method: FactorMethod;
  /** The member of the request that shows this factor. */
  readonly member: keyof FactorProof;
  /** @returns whether the account can use the method now */
  isAvailable(db: Queries, administratorId: Id): Promise<boolean>;
  /** Takes equal time for an account that does not exist. @returns whether the proof is right. It changes and locks nothing */
  isRight(db: Queries, deps: VaultDeps, check: FactorCheck, proof: FactorProof): Promise<boolean>;
  /** Checks the proof again, and uses it up in this transaction. @returns whether it is still right */
  use(tx: Transaction, deps: VaultDeps, check: FactorCheck, proof: FactorProof): Promise<boolean>;
}

const methods: readonly Method[] = [
  {
    method: 'totp',
    member: 'code',
    isAvailable: hasTotp,
    isRight: (db, deps, check, { code = '' }) => isTotpCode(db, deps, check, code),
    use: (tx, deps, check, { code = '' }) => useTotpCode(tx, deps, check, code),
  },
  {
    method: 'recovery_code',
    member: 'recovery_code',
    isAvailable: hasRecoveryCodes,
    isRight: (db, deps, check, { recovery_code: code = '' }) => isRecoveryCode(db, deps, check, code),
    use: (tx, deps, check, { recovery_code: code = '' }) => spendRecoveryCode(tx, deps, check, code),
  },
];

/** @returns the methods that the account can use now */
export async function listAvailableMethods(db: Queries, administratorId: Id): Promise<FactorMethod[]> {
  const available: FactorMethod[] = [];
  for (const { method, isAvailable } of methods) if (await isAvailable(db, administratorId)) available.push(method);
  return available;
}

/** @throws DomainError invalid_request unless exactly one factor is shown */
function methodOf(proof: FactorProof): Method {
  const [method, ...others] = methods.filter(({ member }) => proof[member] !== undefined);
  if (method && others.length === 0) return method;
  const members = methods.map(({ member }) => member).join(', ');
  throw new DomainError('invalid_request', `Send exactly one of these members: ${members}.`);
}

/** Wrong, used, expired and foreign factors and challenges get this error, without a reason (FAC-3). */
export const invalidFactor = () =>
  new DomainError('invalid_credentials', 'The challenge or the factor is wrong, used, expired or of another account.');

/**
 * Checks a second factor without a lock, so that wrong factors of a stranger do not make the owner wait.
 * @throws DomainError invalid_credentials; invalid_request unless exactly one factor is shown
 */
export async function requireRightFactor(deps: VaultDeps, check: FactorCheck, proof: FactorProof): Promise<void> {
  if (!(await methodOf(proof).isRight(deps.db, deps, check, proof))) throw invalidFactor();
}

/**
 * Checks a second factor, and uses it up in this transaction, which must already lock the account.
 * @throws DomainError invalid_credentials
 */
export async function useFactor(
  tx: Transaction,
  deps: VaultDeps,
  check: FactorCheck,
  proof: FactorProof,
): Promise<void> {
  if (!(await methodOf(proof).use(tx, deps, check, proof))) throw invalidFactor();
}
