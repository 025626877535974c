/** Defines when the service tries a charge with an unknown outcome again, and when it stops trying. */

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** The wait after each attempt, in milliseconds. The last value also applies to all later attempts. */
const waits = [5 * second, 30 * second, 2 * minute, 10 * minute, 30 * minute, hour] as const;

/** An attempt makes at most three calls to the processor (10 s each), so the lease is longer than an attempt. */
export const addOnLeaseSeconds = 60;

/**
 * After this time no new charge is requested, and only an earlier charge is searched. The processor stores an idempotency key for at least
 * 24 hours; later, a request with this key would charge a second time.
 */
export const chargesUntilMs = 23 * hour;

/** @param attempts the number of attempts so far @returns the wait after the last attempt, in milliseconds */
export function waitAfterCharge(attempts: number): number {
  return waits[Math.min(attempts, waits.length) - 1] ?? waits[0];
}
