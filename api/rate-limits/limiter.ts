/** Charges calls to the counters of the rate limits, by fixed windows that early retries consume ahead (docs/adr/0002). */
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

/** `retryAfterSeconds`: whole seconds until the first window that still has allowance. */
export type Verdict = { readonly allowed: true } | { readonly allowed: false; readonly retryAfterSeconds: number };

export interface Limiter {
  /**
   * Counts one call of a subject and says whether it may pass.
   * @param subject the club's id, the student's id or the address counted; stored as a keyed hash
   * @param now Unix milliseconds
   * @throws CountersUnavailable when the counters cannot be reached; at most one wait of half a second each second
   */
  charge(budget: Budget, subject: string, now: number): Promise<Verdict>;
  /**
   * Counts one call of a caller who shares a club's budget with others. A call that is refused is charged to the next window of
   * the caller alone (LIM-24).
   * @param of the club's id and the caller's
   * @param now Unix milliseconds
   * @throws CountersUnavailable
   */
  chargeShared(budget: SharedBudget, of: { club: string; caller: string }, now: number): Promise<Verdict>;
  /**
   * Counts a try that may turn out not to count, such as a sign-in with the right password ({@link Limiter.takeBack}). A refused try
   * charges no other window: whoever tries may not be the one whom the counter is for.
   * @throws CountersUnavailable
   */
  attempt(budget: Budget, subject: string, now: number): Promise<Verdict>;
  /** Takes a try back. @param now of the try @throws CountersUnavailable */
  takeBack(budget: Budget, subject: string, now: number): Promise<void>;
  /**
   * Notes a subject for one to two times so long; the counters hold its keyed hash alone.
   * @param now Unix milliseconds
   * @throws CountersUnavailable
   */
  remember(memory: Memory, subject: string, now: number): Promise<void>;
  /** @throws CountersUnavailable */
  isRemembered(memory: Memory, subject: string, now: number): Promise<boolean>;
  /**
   * Counts in this process alone, by a limit of its own that is far smaller (DEC-29): for calls that must neither be refused
   * nor be unlimited while the counters are down.
   */
  chargeHere(subject: string, now: number): Verdict;
  /** Resolves when the counters can be used; rejects with CountersUnavailable. */
  ready(): Promise<void>;
  close(): Promise<void>;
}

/** What is noted for a time, without being counted. */
export interface Memory {
  readonly name: string;
  readonly seconds: number;
}

export interface LimiterOptions {
  /** `postgres://` of a migrated database, or `redis://`. */
  readonly url: Secret;
  /** Keys the hashes that stand for subjects, so that the counters hold no address; the same in every process. */
  readonly masterKey: Secret<Buffer>;
  /** Milliseconds; measures the rest of a store that is down. */
  readonly clock: () => number;
  /** Called when the store fails, at most about once a second: ordinary writes then pass unlimited, which an operator should see. */
  readonly onFailure: (error: unknown) => void;
  /** How long a call waits for its counter; {@link storeDeadlineMs} if absent. Tests of exact counts wait longer than a busy machine needs. */
  readonly deadlineMs?: number;
}

/** A counter lives from its first charge, which may be a window early, to its window's end; and one window to spare for slow calls. */
const windowsKept = 3;
/** What is remembered counts in the window in which it was noted and in the next one. */
const windowsRemembered = 2;
/** Subjects that are known to have nothing left until the window after the next; beyond this many the memory starts afresh. */
const spentRemembered = 10_000;

/** One after the other: a call that finds one spent costs those after it nothing. */
async function hasAll(counters: readonly { has(): Promise<boolean> }[]): Promise<boolean> {
  for (const one of counters) if (!(await one.has())) return false;
  return true;
}

/** Opens the counters on connections of their own; they may be down, and may come back. */
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
  /** Counter → the window in which it, and the one after it, were found spent: a flood then costs the store nothing. */
  const spent = new Map<string, number>();

  const nameOf = (counter: string, subject: string) =>
    `${counter}:${createHmac('sha256', hashKey).update(subject).digest('base64url')}`;
  /** A budget's counters of one subject at one time. */
  const countersOf = ({ counter, limit, windowSeconds }: Budget, subject: string, now: number) => {
    const name = nameOf(counter, subject);
    const window = windowAt(now, windowSeconds);
    const increment = (of: number) => store.increment(`${name}:${of}`, windowSeconds * windowsKept);
    const refusedUntil = (next: number): Verdict => ({
      allowed: false,
      retryAfterSeconds: secondsUntilWindow(next, windowSeconds, now),
    });
    return {
      /** Known without the store: this window and the next one are spent. */
      spent: () => (spent.get(name) === window ? refusedUntil(window + 2) : undefined),
      /** @returns the calls of this window, this one included */
      count: () => increment(window),
      has: async () => (await increment(window)) <= limit,
      takeBack: () => store.increment(`${name}:${window}`, windowSeconds * windowsKept, -1),
      refusedUntilNext: () => refusedUntil(window + 1),
      /** Charges a refused call to the next window. */
      async refuse(): Promise<Verdict> {
        // What is counted beyond the limit changes nothing: the next window is consumed at most whole.
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
          if (await hasAll(pools.map((pool) => countersOf(pool, club, now)))) return { allowed: true };
          const passes = used <= share && (await countersOf(reserve, club, now).has());
          return passes ? { allowed: true } : counters.refuse();
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
