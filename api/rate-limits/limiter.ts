/**
 * Charges calls to the counters of the rate limits. Calls are counted in fixed windows of time. A refused call is charged to the next
 * window, so a caller that retries too early waits longer (docs/adr/0002).
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
 * The decision about a call. `remaining` are the calls that remain for the caller in this window. It is absent if the counter was not read,
 * and for callers who share nothing. `retryAfterSeconds` are the whole seconds until the first window in which a call can pass.
 */
export type Verdict =
  | { readonly allowed: true; readonly remaining?: number }
  | { readonly allowed: false; readonly retryAfterSeconds: number };

export interface Limiter {
  /**
   * Counts one call of a subject, and decides whether it may pass.
   * @param subject the club's id, the student's id or the counted address, which is stored as a keyed hash
   * @param now Unix milliseconds
   * @throws CountersUnavailable when the counters are unreachable. While they are unreachable, at most one call a second waits half a
   * second, and all other calls fail immediately.
   */
  charge(budget: Budget, subject: string, now: number): Promise<Verdict>;
  /**
   * Counts one call of a caller who shares a club's budget with others. A refused call is charged only to the caller's own next window
   * (LIM-24).
   * @param of the club's id and the caller's id
   * @param now Unix milliseconds
   * @throws CountersUnavailable
   */
  chargeShared(budget: SharedBudget, of: { club: string; caller: string }, now: number): Promise<Verdict>;
  /**
   * Counts a try. {@link Limiter.takeBack} removes the try from the count, for example after a sign-in with the correct password. A refused
   * try does not count in the next window: a stranger may have made the try, and the owner of the account must not wait longer because of a
   * stranger.
   * @throws CountersUnavailable
   */
  attempt(budget: Budget, subject: string, now: number): Promise<Verdict>;
  /** Removes a try from the count. @param now the time of the try @throws CountersUnavailable */
  takeBack(budget: Budget, subject: string, now: number): Promise<void>;
  /**
   * Remembers a subject for at least the duration of the memory, and at most twice this duration. The counters store only its keyed hash.
   * @param now Unix milliseconds
   * @throws CountersUnavailable
   */
  remember(memory: Memory, subject: string, now: number): Promise<void>;
  /** @throws CountersUnavailable */
  isRemembered(memory: Memory, subject: string, now: number): Promise<boolean>;
  /**
   * Counts a call only in this process, with a much smaller limit (DEC-29). It is for calls that must pass while the counters are
   * unavailable, but not without a limit.
   */
  chargeHere(subject: string, now: number): Verdict;
  /** Resolves when the counters can be used, or rejects with CountersUnavailable. */
  ready(): Promise<void>;
  close(): Promise<void>;
}

/** A thing that is remembered about subjects for some time, for example the known networks of an account. */
export interface Memory {
  readonly name: string;
  readonly seconds: number;
}

export interface LimiterOptions {
  /** `postgres://` of a migrated database, or `redis://`. */
  readonly url: Secret;
  /** The secret key of the hashes that replace subjects, so that the counters contain no address. Every process has the same key. */
  readonly masterKey: Secret<Buffer>;
  /** The clock in milliseconds, which measures how long an unavailable store is not called. */
  readonly clock: () => number;
  /**
   * Is called when the store fails, at most about once a second. An operator should know about the failure, because ordinary writes pass
   * without a limit until the store works again.
   */
  readonly onFailure: (error: unknown) => void;
  /**
   * The time for which a call waits for its counter; the default is {@link storeDeadlineMs}. Tests of exact counts wait longer, because
   * their machine may be slow.
   */
  readonly deadlineMs?: number;
}

/**
 * The lifetime of a counter, in windows. The first charge may come one window before the counter's own window, and slow calls may come one
 * window after it.
 */
const windowsKept = 3;
/** The lifetime of a remembered subject, in windows: the rest of the current window and the whole next window. */
const windowsRemembered = 2;
/**
 * The maximum number of entries in `spent`. When the map has this number of entries, it is cleared.
 */
const spentRemembered = 10_000;

/**
 * Charges the counters one after the other. A call that finds a counter used up does not charge the following counters.
 * @returns the smallest number of calls that remain in a counter after this call; negative if a counter is used up
 */
async function remainingInAll(counters: readonly { countRemaining(): Promise<number> }[]): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (const one of counters) {
    least = Math.min(least, await one.countRemaining());
    if (least < 0) break;
  }
  return least;
}

/** Opens the counters on separate connections. The store may be unavailable at this time, and may become available later. */
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
   * The last window in which a counter was found used up together with the next window. Calls in that window are refused without the store,
   * so a flood of calls causes no load on the store.
   */
  const spent = new Map<string, number>();

  const nameOf = (counter: string, subject: string) =>
    `${counter}:${createHmac('sha256', hashKey).update(subject).digest('base64url')}`;
  /** Functions that read and charge the counters of one budget, for one subject at one time. */
  const countersOf = ({ counter, limit, windowSeconds }: Budget, subject: string, now: number) => {
    const name = nameOf(counter, subject);
    const window = windowAt(now, windowSeconds);
    const increment = (of: number) => store.increment(`${name}:${of}`, windowSeconds * windowsKept);
    const refusedUntil = (next: number): Verdict => ({
      allowed: false,
      retryAfterSeconds: secondsUntilWindow(next, windowSeconds, now),
    });
    return {
      /** @returns the refusal, if this process already knows that this window and the next window are used up; otherwise undefined */
      spent: () => (spent.get(name) === window ? refusedUntil(window + 2) : undefined),
      /** @returns the calls of this window, including this call */
      count: () => increment(window),
      /** @returns the calls that remain in this window after this call; negative if the call is above the limit */
      countRemaining: async () => limit - (await increment(window)),
      has: async () => (await increment(window)) <= limit,
      takeBack: () => store.increment(`${name}:${window}`, windowSeconds * windowsKept, -1),
      refusedUntilNext: () => refusedUntil(window + 1),
      /** Charges a refused call to the counter of the next window. */
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
