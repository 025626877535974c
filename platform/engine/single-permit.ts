/** A permit for work of which a process does one piece at a time, and that clubs get in turn (ENG-21). */
import type { Id } from '../core/ids.ts';
import { releaseOnce, type Permits } from '../core/permits.ts';

/** A club gets no permit if another club has it, or if another club that waits comes first. */
export type SinglePermit = Permits<Id>;

/** The retries of a club come so far apart, in milliseconds. */
const retryEveryMs = 10_000;
/** The longest wait until a retry. Retries that would wait longer come at random in the second half of it. */
const longestWaitMs = 2 * 60_000;
/** A club that has not asked for so long does not wait any more. */
const forgottenMs = 3 * 60_000;
const remembered = 1_000;

/**
 * @param options.clock in milliseconds; others in tests
 * @param options.random from 0 to 1
 */
export function createSinglePermit({
  clock = () => performance.now(),
  random = Math.random,
}: { clock?: () => number; random?: () => number } = {}): SinglePermit {
  let isFree = true;
  /** Permits so far. */
  let count = 0;
  /** By club: the number of its last permit. The club that got one last is at the end. */
  const lastOf = new Map<Id, number>();
  /** By club that waits: the time of its last try. */
  const waiting = new Map<Id, number>();
  /** By club: the latest time that `retryAt` gave, in Unix milliseconds. */
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
