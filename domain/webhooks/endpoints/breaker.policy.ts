/**
 * The circuit breaker of an endpoint: when it arms, how long it holds, and when the service disables the endpoint (STATE-3 to STATE-5,
 * HOOK-7, HOOK-21).
 */

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

export const breakerRules = {
  /** The number of failures in a row that throttle an endpoint. */
  failuresToArm: 5,
  /** The length of the hold after the first arming. Each further arming doubles the hold. */
  firstHoldMs: minute,
  longestHoldMs: hour,
  /** If no delivery of an enabled endpoint was accepted for this time, the endpoint is disabled with the reason `failing`. */
  failingMs: 5 * day,
  /** An endpoint that is throttled for this long causes a mail to its administrators. */
  mailAfterMs: hour,
} as const;

/** The breaker columns of an endpoint's row. */
export interface Breaker {
  /** The number of failed attempts since the last accepted attempt. */
  consecutiveFailures: number;
  /** The time of the first of these failures. */
  failingSince: Date | null;
  /** The end of the hold of the last arming. */
  holdUntil: Date | null;
  /** The number of armings since the last accepted attempt. If it is above 0, the endpoint is throttled. */
  breakerStep: number;
  /** The number of armings and resets. */
  breakerEpoch: number;
  /** The time of the first arming since the last reset; null while the endpoint is not throttled. */
  throttledSince: Date | null;
  /** The time at which the administrators got the mail about this throttling. */
  throttleMailedAt: Date | null;
}

/** The maximum of `breakerStep`. A higher step would not make the hold longer, and an endpoint may fail any number of times. */
const maxSteps = 16;

export const isThrottled = ({ breakerStep }: Pick<Breaker, 'breakerStep'>): boolean => breakerStep > 0;

/** @param step the number of the arming, from 1 @returns 1 min, 2 min, 4 min … 1 h, in milliseconds */
export function holdAfterArming(step: number): number {
  return Math.min(breakerRules.firstHoldMs * 2 ** (step - 1), breakerRules.longestHoldMs);
}

/** The statuses with which a receiver, or a proxy before it, reports an overload. */
const overloadStatuses: ReadonlySet<number | undefined> = new Set([429, 502, 504]);

/**
 * Returns the hold for all deliveries of an endpoint after an answer that reports an overload (HOOK-21).
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
 * Returns the breaker after a recorded failure. Every failure counts. While the endpoint is throttled, only an attempt that was claimed
 * after the last arming can arm the breaker again. So if forty attempts fail at the same time, the hold doubles only once (ADR 0008).
 * @param claimEpoch the breaker's epoch at the claim of the attempt
 * @param overloadMs the hold of an answer that reports an overload. The first such answer arms the breaker, and the hold then has at least
 *   this length
 * @returns the new breaker, and whether this failure armed it
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

/** Returns the breaker after a 2xx, or after a disabled endpoint was enabled. */
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

/** Returns whether the administrators must get a mail about the throttling. They get the mail once, an hour after the throttling began. */
export function mailIsDue({ throttledSince, throttleMailedAt }: Breaker, now: Date): boolean {
  if (throttledSince === null || throttleMailedAt !== null) return false;
  return now.getTime() - throttledSince.getTime() >= breakerRules.mailAfterMs;
}

/**
 * Returns the time at which an enabled endpoint is disabled because of its failures. This is five days after its first failure since the
 * last accepted delivery. Paused time does not count, so the five days begin again after a pause.
 * @returns undefined for an endpoint without failures
 */
export function failingDeadline({
  failingSince,
  enabledAt,
}: Pick<Breaker, 'failingSince'> & { enabledAt: Date | null }): Date | undefined {
  if (failingSince === null) return undefined;
  return new Date(Math.max(failingSince.getTime(), enabledAt?.getTime() ?? 0) + breakerRules.failingMs);
}
