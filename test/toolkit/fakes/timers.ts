/** Lets a test control time: clocks stand still, and timers fire only when the test advances the time. */
import { syncBuiltinESMExports } from 'node:module';
import { mock } from 'node:test';
import timersPromises from 'node:timers/promises';

/**
 * Stops all timers until the test makes them fire. Sockets continue to work, and so does all code that waits for them. @returns moves the
 * time
 */
export async function withTimersStopped(
  work: (advance: (milliseconds: number) => Promise<void>) => Promise<void>,
): Promise<void> {
  mock.timers.enable({ apis: ['setTimeout'] });
  syncBuiltinESMExports(); // for `import { setTimeout } from 'node:timers/promises'`
  try {
    await work(async (milliseconds) => {
      mock.timers.tick(milliseconds);
      await new Promise((resolve) => setImmediate(resolve));
    });
  } finally {
    mock.timers.reset();
    syncBuiltinESMExports();
  }
}

/**
 * Stops the clocks of this process, `Date` and `performance.now`. Windows, lifetimes and durations then do not depend on the machine's
 * speed. The API's clock stops too, but a test can still move the API's clock. Timers and Postgres continue.
 * @param at the value of `Date`, in Unix milliseconds; now if absent
 */
export async function withClockStopped<T>(work: (now: number) => Promise<T>, at = Date.now()): Promise<T> {
  const { now, goOn } = stopClock(at);
  try {
    return await work(now);
  } finally {
    goOn();
  }
}

/**
 * Stops the clocks in each test of a `describe`, from `beforeEach` on. Call this function in the `describe`. @see withClockStopped
 * @returns a function for use inside a test, which lets this many milliseconds pass
 */
export function useStoppedClock(): (milliseconds: number) => void {
  let goOn = () => {};
  let pass: (milliseconds: number) => void = () => {};
  beforeEach('stop the clocks', () => {
    ({ goOn, pass } = stopClock());
  });
  afterEach('restart the clocks', () => goOn());
  return (milliseconds) => pass(milliseconds);
}

function stopClock(now = Date.now()): { now: number; pass: (milliseconds: number) => void; goOn: () => void } {
  let elapsed = performance.now();
  mock.timers.enable({ apis: ['Date'], now });
  const passed = mock.method(performance, 'now', () => elapsed);
  return {
    now,
    pass(milliseconds) {
      elapsed += milliseconds;
      mock.timers.tick(milliseconds);
    },
    goOn() {
      passed.mock.restore();
      mock.timers.reset();
    },
  };
}

/** @returns the `Retry-After` for a caller who may call again in the next minute of the clock */
export function secondsToNextMinute(now: number): number {
  return Math.ceil((60_000 - (now % 60_000)) / 1_000);
}

/** The length of the longest possible timer. No test runs for so long. */
const neverMs = 2 ** 31 - 1;

/**
 * Stops all timers of this process that have at least this length, so that polls, heartbeats and timeouts never happen. If `work` still
 * gets its results, they do not depend on such a timer, even on a slow machine. Libraries that stored the timer functions earlier still use
 * real timers.
 */
export async function withoutTimersOf<T>(leastMs: number, work: () => Promise<T>): Promise<T> {
  const { setTimeout: after, setInterval: every } = globalThis;
  const { setTimeout: sleep } = timersPromises;
  const { timeout } = AbortSignal;
  const isShort = (milliseconds = 0) => milliseconds < leastMs;
  const never = () => after(() => {}, neverMs).unref();
  const mocks = [
    mock.method(globalThis, 'setTimeout', (...given: Parameters<typeof after>) =>
      isShort(given[1]) ? after(...given) : never(),
    ),
    mock.method(globalThis, 'setInterval', (...given: Parameters<typeof every>) =>
      isShort(given[1]) ? every(...given) : never(),
    ),
    mock.method(timersPromises, 'setTimeout', (...given: Parameters<typeof sleep>) =>
      isShort(given[0]) ? sleep(...given) : sleep(neverMs, given[1], { ...given[2], ref: false }),
    ),
    mock.method(AbortSignal, 'timeout', (milliseconds: number) =>
      isShort(milliseconds) ? timeout(milliseconds) : new AbortController().signal,
    ),
  ];
  syncBuiltinESMExports();
  try {
    return await work();
  } finally {
    for (const one of mocks) one.mock.restore();
    syncBuiltinESMExports();
  }
}

/** @returns the lengths of the timeouts (`AbortSignal.timeout`) that `work` sets, in milliseconds and in order */
export async function limitsSetBy(work: () => Promise<unknown>): Promise<number[]> {
  const { timeout } = AbortSignal;
  const limits: number[] = [];
  const recording = mock.method(AbortSignal, 'timeout', (milliseconds: number) => {
    limits.push(milliseconds);
    return timeout(milliseconds);
  });
  try {
    await work();
    return limits;
  } finally {
    recording.mock.restore();
  }
}
