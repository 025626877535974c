/** Permits: a counting semaphore whose permits belong to keys, such as clubs, endpoints or hosts. */

/** Releases one permit. A second call of the same function has no effect. */
export type ReleasePermit = () => void;

/** Limits how much work of each key runs in a process at the same time. */
export interface Permits<Key> {
  /** @returns a function that releases the permit; undefined if no permit is free for the key */
  tryAcquire(key: Key): ReleasePermit | undefined;
  /**
   * Returns the time at which work that got no permit must try again. If the work of a key ends faster and releases its permits sooner, the
   * retries of this key follow at shorter intervals.
   * @param now Unix milliseconds
   * @returns the time of the next try, in Unix milliseconds
   */
  retryAt(key: Key, now: number): number;
}

/** @returns a function that calls `release` the first time only */
export function releaseOnce(release: () => void): ReleasePermit {
  let isReleased = false;
  return () => {
    if (isReleased) return;
    isReleased = true;
    release();
  };
}
