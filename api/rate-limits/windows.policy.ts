/** Fixed windows of time that are aligned to the clock (docs/adr/0002). */

/** @param now Unix milliseconds Numbers the windows from the epoch. */
export function windowAt(now: number, windowSeconds: number): number {
  return Math.floor(now / (windowSeconds * 1_000));
}

/**
 * @param now Unix milliseconds
 * @returns `Retry-After`: whole seconds, rounded up, at least 1
 */
export function secondsUntilWindow(window: number, windowSeconds: number, now: number): number {
  return Math.max(1, Math.ceil((window * windowSeconds * 1_000 - now) / 1_000));
}
