/**
 * A bounded pool of permits, such as one for each thread of a process, that clubs share (ENG-20). A club gets one more permit only while
 * it holds fewer than are free: alone it holds half of them, and a second club takes half of the rest.
 */
import { DomainError } from '../core/errors.ts';
import type { Id } from '../core/ids.ts';

/** For whom work is done. */
export interface PermitHolder {
  clubId: Id;
  /** The person who waits for the work, where one does. */
  personId?: Id;
}

/** How many may wait for a permit, and for how long. */
export interface PermitLine {
  ofAClub: number;
  /** Of the club's, those of one person. */
  ofAPerson: number;
  patienceMs: number;
}

export interface ClubPermits {
  /** @returns gives the permit back, and is safe to repeat; undefined if the club holds its share, or no permit is free */
  take(clubId: Id): (() => void) | undefined;
  /**
   * For work that found no permit and comes again: those of a club come one after another, at the pace at which its work ends.
   * @param now Unix milliseconds @returns when to come again
   */
  comeAgainAt(clubId: Id, now: number): number;
  /**
   * Does the work with a permit. It waits for one in the line of its club; clubs take turns.
   * @throws DomainError busy if the line is full, or moves too slowly; the signal's reason; whatever the work throws
   */
  run<Result>(holder: PermitHolder, work: () => Promise<Result>, signal?: AbortSignal): Promise<Result>;
}

interface Waiter {
  personId: Id | undefined;
  /** @param permit undefined where the wait is over without one */
  end(permit: (() => void) | undefined): void;
}

/** What a club has in hand, and how long its work takes. */
interface Held {
  permits: number;
  /** How long a piece of its work has taken, in milliseconds: half of it is the newest. */
  tookMs: number | undefined;
  /** When the last one comes again that found no permit. */
  lastTurn: number;
}

const defaultLine: PermitLine = { ofAClub: 8, ofAPerson: 2, patienceMs: 10_000 };
/** Of a club none of whose work has ended yet. */
const unknownMs = 1_000;
/** Work that takes longer counts as this: other work of the club may be short. */
const longestTurnMs = 15_000;
/** Nobody is put off for longer. Those beyond come at random in the second half of it. */
const longestWaitMs = 2 * 60_000;
const remembered = 1_000;
/** Whole seconds for `Retry-After`. */
const retryAfterSeconds = 5;

/**
 * @param total at a time, of all clubs
 * @param options.line of `run`
 * @param options.clock in milliseconds; others in tests
 * @param options.random from 0 to 1
 */
export function createClubPermits(
  total: number,
  {
    line: { ofAClub, ofAPerson, patienceMs } = defaultLine,
    clock = () => performance.now(),
    random = Math.random,
  }: { line?: PermitLine; clock?: () => number; random?: () => number } = {},
): ClubPermits {
  const clubs = new Map<Id, Held>();
  /** In the order in which clubs have their turns. */
  const lines = new Map<Id, Waiter[]>();
  let free = total;

  const mayTake = (clubId: Id) => (clubs.get(clubId)?.permits ?? 0) < free;

  function take(clubId: Id): (() => void) | undefined {
    if (!mayTake(clubId)) return undefined;
    const held = clubs.get(clubId) ?? { permits: 0, tookMs: undefined, lastTurn: 0 };
    clubs.set(clubId, held);
    held.permits += 1;
    free -= 1;
    const since = clock();
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      const tookMs = clock() - since;
      held.tookMs = held.tookMs === undefined ? tookMs : (held.tookMs + tookMs) / 2;
      held.permits -= 1;
      free += 1;
      if (held.permits === 0) held.lastTurn = 0;
      forgetIdle();
      admit();
    };
  }

  /** Of clubs without a permit, only how long their work takes is remembered; the oldest are forgotten first. */
  function forgetIdle(): void {
    if (clubs.size <= remembered) return;
    const idle = [...clubs].find(([, { permits }]) => permits === 0);
    if (idle) clubs.delete(idle[0]);
  }

  /** Gives free permits to those in line, one of each club in turn. */
  function admit(): void {
    for (;;) {
      const next = [...lines].find(([clubId]) => mayTake(clubId));
      if (!next) return;
      const [clubId, [waiter]] = next;
      if (!waiter) return;
      const others = leaveLine(clubId, waiter);
      lines.delete(clubId);
      if (others.length > 0) lines.set(clubId, others); // behind the other clubs
      waiter.end(take(clubId));
    }
  }

  function leaveLine(clubId: Id, waiter: Waiter): Waiter[] {
    const others = (lines.get(clubId) ?? []).filter((other) => other !== waiter);
    if (others.length > 0) lines.set(clubId, others);
    else lines.delete(clubId);
    return others;
  }

  async function wait({ clubId, personId }: PermitHolder, signal: AbortSignal | undefined): Promise<() => void> {
    const waiting = lines.get(clubId) ?? [];
    if (waiting.length === 0) {
      const permit = take(clubId);
      if (permit) return permit;
    }
    const ofPerson = personId === undefined ? 0 : waiting.filter((other) => other.personId === personId).length;
    if (waiting.length >= ofAClub || ofPerson >= ofAPerson) throw busy();
    const permit = await new Promise<(() => void) | undefined>((resolve) => {
      const waiter: Waiter = {
        personId,
        end(given) {
          clearTimeout(patience);
          signal?.removeEventListener('abort', giveUp);
          resolve(given);
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
    take,
    comeAgainAt(clubId, now) {
      const held = clubs.get(clubId);
      const turnMs = Math.min(longestTurnMs, held?.tookMs ?? unknownMs);
      const turn = Math.max(held?.lastTurn ?? 0, now) + turnMs / Math.max(1, held?.permits ?? 1);
      if (turn - now > longestWaitMs) return Math.round(now + longestWaitMs * (0.5 + random() / 2));
      if (held) held.lastTurn = turn;
      return Math.round(turn);
    },
    async run(holder, work, signal) {
      signal?.throwIfAborted();
      const giveBack = await wait(holder, signal);
      try {
        return await work();
      } finally {
        giveBack();
      }
    },
  };
}

function busy(): DomainError {
  return new DomainError('busy', 'Too much work of this club is under way. Please try again shortly.', {
    retryAfterSeconds,
  });
}
