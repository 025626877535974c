/**
 * A pool of permits that clubs share (ENG-20). A club gets one more permit only if it holds fewer permits than are free. So one club holds
 * at most half of the permits. A second club holds at most half of the rest.
 */
import { DomainError } from '../core/errors.ts';
import type { Id } from '../core/ids.ts';
import { releaseOnce, type Permits, type ReleasePermit } from '../core/permits.ts';

export interface PermitHolder {
  clubId: Id;
  personId?: Id;
}

export interface PermitLine {
  ofAClub: number;
  /** The limit of a person, within the club's limit. */
  ofAPerson: number;
  patienceMs: number;
}

export interface ClubPermits extends Permits<Id> {
  /**
   * Waits for a permit in the queue of the club. The clubs get free permits in rotation.
   * @throws DomainError busy, when the queue is full or too slow
   */
  run<Result>(holder: PermitHolder, work: () => Promise<Result>, signal?: AbortSignal): Promise<Result>;
}

interface Waiter {
  personId: Id | undefined;
  /** Ends the wait. @param permit undefined if the waiter gets no permit */
  end(permit: ReleasePermit | undefined): void;
}

interface ClubUse {
  permits: number;
  /** The average in milliseconds; the newest duration has a weight of one half. */
  durationMs: number | undefined;
  /** In Unix milliseconds. */
  lastRetryAt: number;
}

const defaultLine: PermitLine = { ofAClub: 8, ofAPerson: 2, patienceMs: 10_000 };
/** This duration is assumed until the club's first work has ended. */
const unknownMs = 1_000;
/** A longer duration counts as this, because the next work of the club may be short. */
const longestWorkMs = 15_000;
/** Longer waits are replaced by a random time in the second half of this wait. */
const longestWaitMs = 2 * 60_000;
const remembered = 1_000;
const retryAfterSeconds = 5;

/** @param total the number of permits for all clubs */
export function createClubPermits(
  total: number,
  {
    line: { ofAClub, ofAPerson, patienceMs } = defaultLine,
    clock = () => performance.now(),
    random = Math.random,
  }: { line?: PermitLine; clock?: () => number; random?: () => number } = {},
): ClubPermits {
  const clubs = new Map<Id, ClubUse>();
  /** The waiting calls of each club, in the order in which the clubs get permits. */
  const lines = new Map<Id, Waiter[]>();
  let free = total;

  const mayAcquire = (clubId: Id) => (clubs.get(clubId)?.permits ?? 0) < free;

  function tryAcquire(clubId: Id): ReleasePermit | undefined {
    if (!mayAcquire(clubId)) return undefined;
    const use = clubs.get(clubId) ?? { permits: 0, durationMs: undefined, lastRetryAt: 0 };
    clubs.set(clubId, use);
    use.permits += 1;
    free -= 1;
    const since = clock();
    return releaseOnce(() => {
      const durationMs = clock() - since;
      use.durationMs = use.durationMs === undefined ? durationMs : (use.durationMs + durationMs) / 2;
      use.permits -= 1;
      free += 1;
      if (use.permits === 0) use.lastRetryAt = 0;
      forgetIdle();
      admit();
    });
  }

  /** If too many durations are stored, this function forgets the club that got a permit the longest ago. */
  function forgetIdle(): void {
    if (clubs.size <= remembered) return;
    const idle = [...clubs].find(([, { permits }]) => permits === 0);
    if (idle) clubs.delete(idle[0]);
  }

  function admit(): void {
    for (;;) {
      const next = [...lines].find(([clubId]) => mayAcquire(clubId));
      if (!next) return;
      const [clubId, [waiter]] = next;
      if (!waiter) return;
      const others = leaveLine(clubId, waiter);
      lines.delete(clubId);
      if (others.length > 0) lines.set(clubId, others); // moves the club behind the other clubs
      waiter.end(tryAcquire(clubId));
    }
  }

  function leaveLine(clubId: Id, waiter: Waiter): Waiter[] {
    const others = (lines.get(clubId) ?? []).filter((other) => other !== waiter);
    if (others.length > 0) lines.set(clubId, others);
    else lines.delete(clubId);
    return others;
  }

  async function wait({ clubId, personId }: PermitHolder, signal: AbortSignal | undefined): Promise<ReleasePermit> {
    const waiting = lines.get(clubId) ?? [];
    if (waiting.length === 0) {
      const permit = tryAcquire(clubId);
      if (permit) return permit;
    }
    const ofPerson = personId === undefined ? 0 : waiting.filter((other) => other.personId === personId).length;
    if (waiting.length >= ofAClub || ofPerson >= ofAPerson) throw busy();
    const permit = await new Promise<ReleasePermit | undefined>((resolve) => {
      const waiter: Waiter = {
        personId,
        end(release) {
          clearTimeout(patience);
          signal?.removeEventListener('abort', giveUp);
          resolve(release);
        },
      };
      const giveUp = () => {
        leaveLine(clubId, waiter);
        waiter.end(undefined);
      };
      const patience = setTimeout(giveUp, patienceMs);
      signal?.addEventListener('abort', giveUp, { once: true });
      lines.set(clubId, [...waiting, waiter]);
    });
    if (permit) return permit;
    signal?.throwIfAborted();
    throw busy();
  }

  return {
    tryAcquire,
    retryAt(clubId, now) {
      const use = clubs.get(clubId);
      const workMs = Math.min(longestWorkMs, use?.durationMs ?? unknownMs);
      const at = Math.max(use?.lastRetryAt ?? 0, now) + workMs / Math.max(1, use?.permits ?? 1);
      if (at - now > longestWaitMs) return Math.round(now + longestWaitMs * (0.5 + random() / 2));
      if (use) use.lastRetryAt = at;
      return Math.round(at);
    },
    async run(holder, work, signal) {
      signal?.throwIfAborted();
      const release = await wait(holder, signal);
      try {
        return await work();
      } finally {
        release();
      }
    },
  };
}

function busy(): DomainError {
  return new DomainError('busy', 'Too much work of this club is in progress. Please try again shortly.', {
    retryAfterSeconds,
  });
}
