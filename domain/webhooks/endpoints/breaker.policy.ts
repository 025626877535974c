/** The circuit breaker of an endpoint: when it arms, how long it holds, when the endpoint is given up (STATE-3 to STATE-5, HOOK-7). */

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

export const breakerRules = {
  /** Failures in a row that throttle an endpoint. */
  failuresToArm: 5,
  /** How long the first arming holds; each further one holds twice as long. */
  firstHoldMs: minute,
  longestHoldMs: hour,
  /** Enabled and without an accepted delivery for so long, a failing endpoint is disabled. */
  failingMs: 5 * day,
} as const;

/** What an endpoint's row says of its breaker. */
export interface Breaker {
  /** Failed attempts since the last accepted one. */
  consecutiveFailures: number;
  /** The first of them. */
  failingSince: Date | null;
  /** End of the wait that the last arming began. */
  holdUntil: Date | null;
  /** Armings since the last accepted attempt; above 0 the endpoint is throttled. */
  breakerStep: number;
  /** Counts armings and resets. */
  breakerEpoch: number;
}

/** Counted no further: the hold does not grow any more, and an endpoint can fail for ever. */
const maxSteps = 16;

export const isThrottled = ({ breakerStep }: Pick<Breaker, 'breakerStep'>): boolean => breakerStep > 0;

/** @param step the number of the arming, from 1 @returns 1 min, 2 min, 4 min … 1 h, in milliseconds */
export function holdAfterArming(step: number): number {
  return Math.min(breakerRules.firstHoldMs * 2 ** (step - 1), breakerRules.longestHoldMs);
}

/**
 * A failed attempt was recorded. Every failure counts; but once throttled, only one that was claimed since the last arming
 * arms again, so that forty failures in flight double the wait once (ADR 0008).
 * @param claimEpoch the breaker's epoch when the attempt was claimed
 * @returns the breaker as it is now, and whether this failure armed it
 */
export function afterFailure(breaker: Breaker, claimEpoch: number, now: Date): { breaker: Breaker; armed: boolean } {
  const failed: Breaker = {
    ...breaker,
    consecutiveFailures: breaker.consecutiveFailures + 1,
    failingSince: breaker.failingSince ?? now,
  };
  const armed = isThrottled(breaker)
    ? claimEpoch === breaker.breakerEpoch
    : failed.consecutiveFailures >= breakerRules.failuresToArm;
  if (!armed) return { breaker: failed, armed };
  const breakerStep = Math.min(breaker.breakerStep + 1, maxSteps);
  return {
    armed,
    breaker: {
      ...failed,
      breakerStep,
      breakerEpoch: breaker.breakerEpoch + 1,
      holdUntil: new Date(now.getTime() + holdAfterArming(breakerStep)),
    },
  };
}

/** Any 2xx, or an endpoint set enabled after it was disabled: reset to zero. */
export function resetBreaker({ breakerEpoch }: Pick<Breaker, 'breakerEpoch'>): Breaker {
  return {
    consecutiveFailures: 0,
    failingSince: null,
    holdUntil: null,
    breakerStep: 0,
    breakerEpoch: breakerEpoch + 1,
  };
}

/**
 * When an enabled endpoint is given up: five days after its first failure since the last accepted delivery; time that it
 * was paused does not count against it, so a pause begins the five days anew.
 * @returns undefined for one that does not fail
 */
export function failingDeadline({
  failingSince,
  enabledAt,
}: Pick<Breaker, 'failingSince'> & { enabledAt: Date | null }): Date | undefined {
  if (failingSince === null) return undefined;
  return new Date(Math.max(failingSince.getTime(), enabledAt?.getTime() ?? 0) + breakerRules.failingMs);
}
