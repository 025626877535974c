/** Decides whether the sign-in of a session suffices: for a club with rules of its own (FAC-1), and for sensitive operations (FAC-2). */
import type { Role } from '../../../entities/clubs/values.ts';
import type { ErrorCode } from '../../../platform/core/error-codes.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';

/** The proofs that an administrator has given in a session. */
export interface SignInProofs {
  /** The last time at which the person proved who they are, by any factor. */
  readonly provedAt: Date;
  /** The last time at which the person showed a second factor. Null if the session has only one factor. */
  readonly secondFactorAt: Date | null;
  /** The identity provider that opened the session. Null if the session was opened in another way. */
  readonly providerId: Id | null;
}

export interface SignInRequirements {
  readonly requiresSecondFactor: boolean;
  /** Null if members may sign in without an identity provider. */
  readonly requiredProviderId: Id | null;
}

/** A factor is fresh for 10 minutes. In milliseconds. */
export const freshForMs = 10 * 60_000;

/**
 * An owner with a second factor may act without the provider. So a provider that fails does not lock a club out.
 * @returns the code of the refusal; undefined if the session satisfies the rules of the club
 */
export function refusalByRules(
  { requiresSecondFactor, requiredProviderId }: SignInRequirements,
  { secondFactorAt, providerId }: SignInProofs,
  role: Role,
): Extract<ErrorCode, 'club_requires_second_factor' | 'club_requires_provider'> | undefined {
  if (requiresSecondFactor && secondFactorAt === null) return 'club_requires_second_factor';
  const isWayBack = role === 'owner' && secondFactorAt !== null;
  if (requiredProviderId !== null && requiredProviderId !== providerId && !isWayBack) return 'club_requires_provider';
  return undefined;
}

/**
 * @param hasSecondFactor whether the account has a second factor: then only this factor counts
 * @returns whether the person has proved who they are within the last 10 minutes
 */
export function isFresh({ provedAt, secondFactorAt }: SignInProofs, hasSecondFactor: boolean, now: Date): boolean {
  const proof = hasSecondFactor ? secondFactorAt : provedAt;
  return proof !== null && now.getTime() - proof.getTime() <= freshForMs;
}

export const freshFactorRequired = () =>
  new DomainError(
    'fresh_factor_required',
    'Show a factor of your account again: the last proof is older than 10 minutes.',
  );
