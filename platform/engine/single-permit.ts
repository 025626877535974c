/** A single permit of a process, which clubs get in rotation (ENG-21). */
import type { Id } from '../core/ids.ts';
import { releaseOnce, type Permits } from '../core/permits.ts';

/** A club does not get the permit while another club holds it, or if another waiting club comes first. */
export type SinglePermit = Permits<Id>;

/** In milliseconds. */
const retryEveryMs = 10_000;
/** Longer waits are replaced by a random time in the second half of this wait. */
const longestWaitMs = 2 * 60_000;
/** A club that has not tried for this long no longer counts as waiting. */
const forgottenMs = 3 * 60_000;
const remembered = 1_000;

export function createSinglePermit({
  clock = () => performance.now(),
  random = Math.random,
}: { clock?: () => number; random?: () => number } = {}): SinglePermit {
  let isFree = true;
  /** The number of permits that were granted since the beginning. */
  let count = 0;
  /** The number of each club's last permit; the club with the newest is at the end. */
  const lastOf = new Map<Id, number>();
  const waiting = new Map<Id, number>();
  /** In Unix milliseconds. */
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
