/** Permits: a counting semaphore whose permits belong to keys, such as clubs, endpoints or hosts. */

/** A second call has no effect. */
export type ReleasePermit = () => void;

export interface Permits<Key> {
  /** @returns undefined if no permit is free for the key */
  tryAcquire(key: Key): ReleasePermit | undefined;
  /**
   * The time at which work without a permit must try again, in Unix milliseconds. If a key's work ends faster, its retries come at shorter
   * intervals.
   * @param now Unix milliseconds
   */
  retryAt(key: Key, now: number): number;
}

export function releaseOnce(release: () => void): ReleasePermit {
  let isReleased = false;
  return () => {
    if (isReleased) return;
    isReleased = true;
    release();
  };
}
