/** When a charge that nobody knows the end of is asked for again, and when it is given up. */

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** Waits after each attempt, in milliseconds; the last one repeats. */
const waits = [5 * second, 30 * second, 2 * minute, 10 * minute, 30 * minute, hour] as const;

/** Longer than the three calls of an attempt may take together (10 s each), in seconds. */
export const addOnLeaseSeconds = 60;

/**
 * From here on no charge is asked for any more, only looked for: the processor keeps an idempotency key for 24 hours at
 * least, and a charge under a key that is forgotten would be a second one.
 */
export const chargesUntilMs = 23 * hour;

/** @param attempts that were made @returns the wait after the last of them, in milliseconds */
export function waitAfterCharge(attempts: number): number {
  return waits[Math.min(attempts, waits.length) - 1] ?? waits[0];
}
