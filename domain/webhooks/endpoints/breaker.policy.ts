/** The circuit breaker of an endpoint: when it arms, how long it holds, when the endpoint is given up (STATE-3 to STATE-5, HOOK-7, HOOK-21). */

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
  /** Throttled for so long, its administrators get a mail. */
  mailAfterMs: hour,
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
  /** The first of these armings; null while it is not throttled. */
  throttledSince: Date | null;
  /** When the administrators got a mail about this throttling. */
  throttleMailedAt: Date | null;
}

/** Counted no further: the hold does not grow any more, and an endpoint can fail for ever. */
const maxSteps = 16;

export const isThrottled = ({ breakerStep }: Pick<Breaker, 'breakerStep'>): boolean => breakerStep > 0;

/** @param step the number of the arming, from 1 @returns 1 min, 2 min, 4 min … 1 h, in milliseconds */
export function holdAfterArming(step: number): number {
  return Math.min(breakerRules.firstHoldMs * 2 ** (step - 1), breakerRules.longestHoldMs);
}

/** By these a receiver, or a proxy before it, says that it gets too much. */
const overloadStatuses: ReadonlySet<number | undefined> = new Set([429, 502, 504]);

/**
 * How long all deliveries of an endpoint wait after an answer that says that it gets too much (HOOK-21).
 * @param answer.waitMs until the next attempt of this delivery, if there is one
 * @returns milliseconds, at most an hour: the wait of the delivery up to a minute, or longer if `Retry-After` asks for it;
 *   undefined for any other answer
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
 * A failed attempt was recorded. Every failure counts; but once throttled, only one that was claimed since the last arming
 * arms again, so that forty failures in flight double the wait once (ADR 0008).
 * @param claimEpoch the breaker's epoch when the attempt was claimed
 * @param overloadMs the answer says that the endpoint gets too much: the first one arms, and holds at least for so long
 * @returns the breaker as it is now, and whether this failure armed it
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

/** Any 2xx, or an endpoint set enabled after it was disabled: reset to zero. */
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

/** Whether the administrators are to get a mail that the endpoint is throttled: once, an hour after it began. */
export function mailIsDue({ throttledSince, throttleMailedAt }: Breaker, now: Date): boolean {
  if (throttledSince === null || throttleMailedAt !== null) return false;
  return now.getTime() - throttledSince.getTime() >= breakerRules.mailAfterMs;
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
