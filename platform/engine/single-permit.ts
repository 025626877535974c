/** A permit for work of which a process does one piece at a time, and that clubs get in turn (ENG-21). */
import type { Id } from '../core/ids.ts';

export interface SinglePermit {
  /** @returns gives the permit back, and is safe to repeat; undefined if it is taken, or another club that waits comes first */
  take(clubId: Id): (() => void) | undefined;
  /**
   * For work that found no permit: that of a club comes again piece by piece.
   * @param now Unix milliseconds @returns when to come again
   */
  comeAgainAt(clubId: Id, now: number): number;
}

const turnMs = 10_000;
/** Nobody comes again later. Work of a club that has more of it comes at random in the second half. */
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
  let isTaken = false;
  let taken = 0;
  /** By club: which of all permits was its last. The club that got one last is at the end. */
  const lastOf = new Map<Id, number>();
  /** By club that waits: when it has asked last. */
  const asked = new Map<Id, number>();
  /** By club: when the last piece of its work comes again. */
  const turns = new Map<Id, number>();

  const comesFirst = (one: Id, other: Id) => (lastOf.get(one) ?? 0) < (lastOf.get(other) ?? 0);

  return {
    take(clubId) {
      const now = clock();
      for (const [club, at] of asked) if (now - at > forgottenMs) asked.delete(club);
      if (isTaken || [...asked.keys()].some((other) => comesFirst(other, clubId))) {
        asked.set(clubId, now);
        return undefined;
      }
      isTaken = true;
      taken += 1;
      asked.delete(clubId);
      lastOf.delete(clubId);
      lastOf.set(clubId, taken);
      const [oldest] = lastOf.keys();
      if (lastOf.size > remembered && oldest !== undefined) lastOf.delete(oldest);
      let isOver = false;
      return () => {
        if (isOver) return;
        isOver = true;
        isTaken = false;
      };
    },
    comeAgainAt(clubId, now) {
      for (const [club, at] of turns) if (at <= now) turns.delete(club);
      const turn = Math.max(turns.get(clubId) ?? 0, now) + turnMs;
      if (turn - now > longestWaitMs) return Math.round(now + longestWaitMs * (0.5 + random() / 2));
      turns.set(clubId, turn);
      return turn;
    },
  };
}
