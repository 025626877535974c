/** A single permit of a process, which clubs get in rotation (ENG-21). */
import type { Id } from '../core/ids.ts';
import { releaseOnce, type Permits } from '../core/permits.ts';

/** Gives the permit to clubs. A club does not get it while another club holds it, or if another waiting club comes first. */
export type SinglePermit = Permits<Id>;

/** The time between two retries of a club, in milliseconds. */
const retryEveryMs = 10_000;
/** The longest wait until a retry. Longer waits are replaced by a random time in the second half of this wait. */
const longestWaitMs = 2 * 60_000;
/** A club that has not tried for this long does not count as waiting any more. */
const forgottenMs = 3 * 60_000;
const remembered = 1_000;

/**
 * @param options.clock returns the time in milliseconds; tests pass their own clock
 * @param options.random returns a random number from 0 to 1
 */
export function createSinglePermit({
  clock = () => performance.now(),
  random = Math.random,
}: { clock?: () => number; random?: () => number } = {}): SinglePermit {
  let isFree = true;
  /** The number of permits that this object has granted since its creation. */
  let count = 0;
  /** For each club, the number of its last permit. The club with the newest permit stands at the end. */
  const lastOf = new Map<Id, number>();
  /** The time of the last try of each waiting club. */
  const waiting = new Map<Id, number>();
  /** The latest time that `retryAt` returned for each club, in Unix milliseconds. */
  const retries = new Map<Id, number>();

  const comesFirst = (one: Id, other: Id) => (lastOf.get(one) ?? 0) < (lastOf.get(other) ?? 0);

  return {
    tryAcquire(clubId) {
      const now = clock();
      for (const [club, at] of waiting) if (now - at > forgottenMs) waiting.delete(club);
      if (!isFree || [...waiting.keys()].some((other) => comesFirst(other, clubId))) {
        waiting.set(clubId, now);
        return undefined;
      }
      isFree = false;
      count += 1;
      waiting.delete(clubId);
      lastOf.delete(clubId);
      lastOf.set(clubId, count);
      const [oldest] = lastOf.keys();
      if (lastOf.size > remembered && oldest !== undefined) lastOf.delete(oldest);
      return releaseOnce(() => {
        isFree = true;
      });
    },
    retryAt(clubId, now) {
      for (const [club, at] of retries) if (at <= now) retries.delete(club);
      const retryAt = Math.max(retries.get(clubId) ?? 0, now) + retryEveryMs;
      if (retryAt - now > longestWaitMs) return Math.round(now + longestWaitMs * (0.5 + random() / 2));
      retries.set(clubId, retryAt);
      return retryAt;
    },
  };
}
