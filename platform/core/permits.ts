/** Permits: a counting semaphore whose permits belong to keys, such as clubs, endpoints or hosts. */

/** Releases one permit. Safe to repeat. */
export type ReleasePermit = () => void;

/** Bounds how much work of each key a process does at one time. */
export interface Permits<Key> {
  /** @returns releases the permit; undefined if the key gets none now */
  tryAcquire(key: Key): ReleasePermit | undefined;
  /**
   * For work without a permit: the tries of a key come one after another, at the pace at which its work ends.
   * @param now Unix milliseconds
   * @returns when to try again, in Unix milliseconds
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
