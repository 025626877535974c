/** Calculates with fixed windows of time that are aligned to the clock (docs/adr/0002). */

/**
 * @param now Unix milliseconds
 * Numbers the windows from the epoch. @returns the number of the window that contains this time
 */
export function windowAt(now: number, windowSeconds: number): number {
  return Math.floor(now / (windowSeconds * 1_000));
}

/**
 * @param now Unix milliseconds
 * @returns the value of `Retry-After` for a call at `now` that must wait until the window begins: whole seconds, rounded up, at least 1
 */
export function secondsUntilWindow(window: number, windowSeconds: number, now: number): number {
  return Math.max(1, Math.ceil((window * windowSeconds * 1_000 - now) / 1_000));
}
