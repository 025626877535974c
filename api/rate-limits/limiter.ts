/**
 * Charges calls to fixed windows of time. A refused call is charged to the next window, so a caller that retries too early waits longer
 * (docs/adr/0002).
 */
import { createHmac, hkdfSync } from 'node:crypto';
import type { Secret } from '../../platform/core/secret.ts';
import { createCircuit } from './circuit.ts';
import { createLocalCounters } from './local-counters.ts';
import { storeDeadlineMs, type CounterStore } from './counter-store.ts';
import { openPostgresCounters } from './postgres-counters.ts';
import { openRedisCounters } from './redis-counters.ts';
import type { Budget } from './rules.policy.ts';
import type { SharedBudget } from './shared-budgets.policy.ts';
import { secondsUntilWindow, windowAt } from './windows.policy.ts';

export { CountersUnavailable } from './counter-store.ts';

/**
 * `remaining`: the caller's calls in this window; absent if the counter was not read, and for callers who share nothing.
 * `retryAfterSeconds`: whole seconds until a call can pass.
 */
export type Verdict =
  | { readonly allowed: true; readonly remaining?: number }
  | { readonly allowed: false; readonly retryAfterSeconds: number };

export interface Limiter {
  /**
   * @param subject the id of the club or student, or the counted address; stored as a keyed hash
   * @param now Unix milliseconds
   * @throws CountersUnavailable when the counters are unreachable. Then one call a second waits half a second, and the others fail
   * immediately.
   */
  charge(budget: Budget, subject: string, now: number): Promise<Verdict>;
  /**
   * Charges callers who share a club's budget. A refused call is charged only to the caller's own next window (LIM-24).
   * @param of the ids of club and caller
   * @param now Unix milliseconds
   * @throws CountersUnavailable
   */
  chargeShared(budget: SharedBudget, of: { club: string; caller: string }, now: number): Promise<Verdict>;
  /**
   * Counts a try. {@link Limiter.takeBack} removes it again, for example after a correct password. A refused try does not count in the next
   * window, because a stranger may have made it.
   * @throws CountersUnavailable
   */
  attempt(budget: Budget, subject: string, now: number): Promise<Verdict>;
  /** @param now of the try @throws CountersUnavailable */
  takeBack(budget: Budget, subject: string, now: number): Promise<void>;
  /**
   * Remembers a subject for at least the duration of the memory, and at most twice as long. Only a keyed hash is stored.
   * @param now Unix milliseconds
   * @throws CountersUnavailable
   */
  remember(memory: Memory, subject: string, now: number): Promise<void>;
  /** @throws CountersUnavailable */
  isRemembered(memory: Memory, subject: string, now: number): Promise<boolean>;
  /** Charges a call only in this process, with a much smaller limit (DEC-29). Some calls must pass while the counters are unavailable. */
  chargeHere(subject: string, now: number): Verdict;
  /** Rejects with CountersUnavailable. */
  ready(): Promise<void>;
  close(): Promise<void>;
}

/** The limiter remembers keys for some time, such as the known networks of an account. */
export interface Memory {
  readonly name: string;
  readonly seconds: number;
}

export interface LimiterOptions {
  /** `postgres://` of a migrated database, or `redis://`. */
  readonly url: Secret;
  /** Hashes under this key replace subjects. Every process has this key. */
  readonly masterKey: Secret<Buffer>;
  /** In milliseconds. */
  readonly clock: () => number;
  /** Called at most about once a second. Ordinary writes pass without a limit until the store works again. */
  readonly onFailure: (error: unknown) => void;
  /** {@link storeDeadlineMs} if absent. Tests of exact counts wait longer, because their machine may be slow. */
  readonly deadlineMs?: number;
}

/** The first charge may come one window early, and slow calls one window late. */
const windowsKept = 3;
/** These are the rest of the current window and the whole next one. */
const windowsRemembered = 2;
/** The map is cleared when it reaches this size. */
const spentRemembered = 10_000;

/**
 * One after the other: after a used-up counter, the following counters are not charged.
 * @returns the smallest remaining number; negative if a counter is used up
 */
async function remainingInAll(counters: readonly { countRemaining(): Promise<number> }[]): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (const one of counters) {
    least = Math.min(least, await one.countRemaining());
    if (least < 0) break;
  }
  return least;
}

/** The store may become available later. */
export function createLimiter({
  url,
  masterKey,
  clock,
  onFailure,
  deadlineMs = storeDeadlineMs,
}: LimiterOptions): Limiter {
  const store: CounterStore = url.reveal().startsWith('redis')
    ? openRedisCounters(url, deadlineMs)
    : openPostgresCounters(url, deadlineMs);
  const hashKey = Buffer.from(hkdfSync('sha256', masterKey.reveal(), '', 'rate limit subjects', 32));
  const reach = createCircuit(clock, onFailure, deadlineMs);
  /**
   * For each counter, the last window that was used up together with the next one. Calls are then refused without the store, so a flood of
   * calls causes no load.
   */
  const spent = new Map<string, number>();

  const nameOf = (counter: string, subject: string) =>
    `${counter}:${createHmac('sha256', hashKey).update(subject).digest('base64url')}`;
  /** The counters of one subject at one time. */
  const countersOf = ({ counter, limit, windowSeconds }: Budget, subject: string, now: number) => {
    const name = nameOf(counter, subject);
    const window = windowAt(now, windowSeconds);
    const increment = (of: number) => store.increment(`${name}:${of}`, windowSeconds * windowsKept);
    const refusedUntil = (next: number): Verdict => ({
      allowed: false,
      retryAfterSeconds: secondsUntilWindow(next, windowSeconds, now),
    });
    return {
      /** @returns the refusal if this and the next window are known to be used up */
      spent: () => (spent.get(name) === window ? refusedUntil(window + 2) : undefined),
      /** @returns the calls of this window, including this call */
      count: () => increment(window),
      /** @returns the calls that remain after this call; negative above the limit */
      countRemaining: async () => limit - (await increment(window)),
      has: async () => (await increment(window)) <= limit,
      takeBack: () => store.increment(`${name}:${window}`, windowSeconds * windowsKept, -1),
      refusedUntilNext: () => refusedUntil(window + 1),
      async refuse(): Promise<Verdict> {
        // A count above the limit has no further effect: at most the whole next window is used up.
        if ((await increment(window + 1)) < limit) return refusedUntil(window + 1);
        if (spent.size >= spentRemembered) spent.clear();
        spent.set(name, window);
        return refusedUntil(window + 2);
      },
    };
  };

  return {
    async charge(budget, subject, now) {
      const counters = countersOf(budget, subject, now);
      return counters.spent() ?? reach(async () => ((await counters.has()) ? { allowed: true } : counters.refuse()));
    },
    async chargeShared({ own, share, pools, reserve }, { club, caller }, now) {
      const counters = countersOf(own, `${club} ${caller}`, now);
      return (
        counters.spent() ??
        reach(async () => {
          const used = await counters.count();
          if (used > own.limit) return counters.refuse();
          const remaining = await remainingInAll(pools.map((pool) => countersOf(pool, club, now)));
          if (remaining >= 0) return { allowed: true, remaining: Math.min(own.limit - used, remaining) };
          const passes = used <= share && (await countersOf(reserve, club, now).has());
          return passes ? { allowed: true, remaining: share - used } : counters.refuse();
        })
      );
    },
    attempt(budget, subject, now) {
      const counters = countersOf(budget, subject, now);
      return reach(async () => ((await counters.has()) ? { allowed: true } : counters.refusedUntilNext()));
    },
    async takeBack(budget, subject, now) {
      await reach(() => countersOf(budget, subject, now).takeBack());
    },
    async remember({ name, seconds }, subject, now) {
      const key = `${nameOf(name, subject)}:${windowAt(now, seconds)}`;
      await reach(() => store.increment(key, seconds * windowsRemembered));
    },
    async isRemembered({ name, seconds }, subject, now) {
      const window = windowAt(now, seconds);
      const counts = await reach(() =>
        Promise.all([window, window - 1].map((of) => store.read(`${nameOf(name, subject)}:${of}`))),
      );
      return counts.some((count) => count > 0);
    },
    chargeHere: createLocalCounters(),
    ready: () => reach(() => store.ready()),
    close: () => store.close(),
  };
}
