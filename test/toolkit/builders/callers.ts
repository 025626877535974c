/** Builds callers as the session check returns them. */
import type { Caller } from '../../../api/operation.ts';
import type { Id } from '../../../platform/core/ids.ts';

/** An owner who has just signed in with a password, in a club without sign-in rules. */
export function ownerAsCaller(administratorId: Id, now = new Date()): Caller {
  return {
    kind: 'admin',
    token: 't',
    administratorId,
    sessionId: administratorId,
    role: 'owner',
    provedAt: now,
    secondFactorAt: null,
    providerId: null,
    onlyClubId: null,
    required: { requiresSecondFactor: false, requiredProviderId: null },
  };
}
