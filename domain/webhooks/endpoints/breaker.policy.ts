/**
 * The circuit breaker of an endpoint: when it is armed, how long it holds deliveries back, and when the endpoint is disabled (STATE-3 to
 * STATE-5, HOOK-7, HOOK-21).
 */

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

export const breakerRules = {
  /** After this many failures in a row, the breaker is armed and the endpoint is throttled. */
  failuresToArm: 5,
  /** The length of the hold when the breaker is armed for the first time. Each time that the breaker is armed again, the hold doubles. */
  firstHoldMs: minute,
  longestHoldMs: hour,
  /**
   * If the deliveries of an enabled endpoint fail for this long and none is accepted, the service disables the endpoint with the reason
   * `failing`.
   */
  failingMs: 5 * day,
  /** When an endpoint has been throttled for this long, the administrators of the club get a mail. */
  mailAfterMs: hour,
} as const;

export interface Breaker {
  /** The number of failures since the last accepted attempt. */
  consecutiveFailures: number;
  /** The time of the first of these failures. */
  failingSince: Date | null;
  /** The end of the current or last hold. */
  holdUntil: Date | null;
  /**
   * The number of times that the breaker was armed since the last accepted attempt. If this number is above 0, the endpoint is throttled.
   */
  breakerStep: number;
  breakerEpoch: number;
  /** Null while the endpoint is not throttled. */
  throttledSince: Date | null;
  /** The time at which the administrators got the mail about this throttling. */
  throttleMailedAt: Date | null;
}

/** A higher step would not make the hold longer, and an endpoint may fail any number of times. */
const maxSteps = 16;

export const isThrottled = ({ breakerStep }: Pick<Breaker, 'breakerStep'>): boolean => breakerStep > 0;

/**
 * @param step the number of times that the breaker was armed, from 1
 * @returns milliseconds: 1 minute, 2 minutes, 4 minutes and so on, at most 1 hour
 */
export function holdAfterArming(step: number): number {
  return Math.min(breakerRules.firstHoldMs * 2 ** (step - 1), breakerRules.longestHoldMs);
}

/** A receiver, or a proxy before it, reports an overload by these statuses. */
const overloadStatuses: ReadonlySet<number | undefined> = new Set([429, 502, 504]);

/**
 * Returns how long all deliveries of an endpoint are held back after an answer that reports an overload (HOOK-21).
 * @param answer.waitMs the wait until the next attempt of this delivery, if there is one
 * @returns the hold in milliseconds. The hold is the wait of the delivery, but at most a minute. If `Retry-After` asks for a longer wait,
 * the hold is longer, but at most an hour. Undefined for an answer that reports no overload
 */
export function overloadHold(answer: {
  responseStatus?: number;
  retryAfterSeconds?: number;
  waitMs: number | undefined;
}): number | undefined {
  if (!overloadStatuses.has(answer.responseStatus)) return undefined;
  const ownMs = Math.min(answer.waitMs ?? breakerRules.firstHoldMs, breakerRules.firstHoldMs);
  return Math.min(Math.max(ownMs, (answer.retryAfterSeconds ?? 0) * 1_000), breakerRules.longestHoldMs);
}

/**
 * Returns the state of the breaker after a recorded failure. Every failure counts. While the endpoint is throttled, only an attempt that
 * was claimed after the breaker was last armed can arm the breaker again. So if forty attempts fail at the same time, the hold doubles only
 * once (ADR 0008).
 * @param claimEpoch the breaker's epoch when the attempt was claimed
 * @param overloadMs the hold of an answer that reports an overload. If the breaker is closed, such an answer arms the breaker, and the hold
 * lasts at least this long
 * @returns the new state of the breaker, and whether this failure armed the breaker
 */
export function afterFailure(
  breaker: Breaker,
  claimEpoch: number,
  now: Date,
  overloadMs?: number,
): { breaker: Breaker; armed: boolean } {
  const failed: Breaker = {
    ...breaker,
    consecutiveFailures: breaker.consecutiveFailures + 1,
    failingSince: breaker.failingSince ?? now,
  };
  const isCounted = failed.consecutiveFailures >= breakerRules.failuresToArm;
  const armed = isThrottled(breaker) ? claimEpoch === breaker.breakerEpoch : isCounted || overloadMs !== undefined;
  if (!armed) return { breaker: failed, armed };
  const breakerStep = Math.min(breaker.breakerStep + 1, maxSteps);
  return {
    armed,
    breaker: {
      ...failed,
      breakerStep,
      breakerEpoch: breaker.breakerEpoch + 1,
      holdUntil: new Date(
        now.getTime() + Math.max(overloadMs ?? 0, isThrottled(breaker) || isCounted ? holdAfterArming(breakerStep) : 0),
      ),
      throttledSince: isThrottled(breaker) ? breaker.throttledSince : now,
      throttleMailedAt: isThrottled(breaker) ? breaker.throttleMailedAt : null,
    },
  };
}

/** Returns the breaker after a 2xx response, or after the enabling of a disabled endpoint. */
export function resetBreaker({ breakerEpoch }: Pick<Breaker, 'breakerEpoch'>): Breaker {
  return {
    consecutiveFailures: 0,
    failingSince: null,
    holdUntil: null,
    breakerStep: 0,
    breakerEpoch: breakerEpoch + 1,
    throttledSince: null,
    throttleMailedAt: null,
  };
}

/** The administrators get one mail, an hour after the throttling began. */
export function mailIsDue({ throttledSince, throttleMailedAt }: Breaker, now: Date): boolean {
  if (throttledSince === null || throttleMailedAt !== null) return false;
  return now.getTime() - throttledSince.getTime() >= breakerRules.mailAfterMs;
}

/**
 * Returns when an enabled endpoint is disabled: five days after its first failure since the last accepted delivery. A pause begins the five
 * days again.
 * @returns undefined without failures
 */
export function failingDeadline({
  failingSince,
  enabledAt,
}: Pick<Breaker, 'failingSince'> & { enabledAt: Date | null }): Date | undefined {
  if (failingSince === null) return undefined;
  return new Date(Math.max(failingSince.getTime(), enabledAt?.getTime() ?? 0) + breakerRules.failingMs);
}
