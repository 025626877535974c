/** Time that tests hold: timers that run only as far as they are told, and a time of day that stands still. */
import { syncBuiltinESMExports } from 'node:module';
import { mock } from 'node:test';
import timersPromises from 'node:timers/promises';

/** Lets no timer run but as far as it is told. Sockets go on, and so does what waits for them. @returns moves the time */
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
 * Lets the clocks of this process stand still, `Date` and `performance.now`: windows, lifetimes and the times that work
 * takes then do not depend on how fast the machine is. The API's clock stands still with them; what a test adds to that clock
 * still counts. Timers and Postgres go on.
 * @param at where `Date` stands, in Unix milliseconds; now if absent
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
 * Call it in a `describe`: the clocks stand still in each of its tests, from its `beforeEach` on. @see withClockStopped
 * @returns lets so many milliseconds pass, inside a test
 */
export function useStoppedClock(): (milliseconds: number) => void {
  let goOn = () => {};
  let pass: (milliseconds: number) => void = () => {};
  beforeEach('stop the clocks', () => {
    ({ goOn, pass } = stopClock());
  });
  afterEach('let the clocks go on', () => goOn());
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

/** @returns the `Retry-After` of a caller who is to come back in the next minute of the clock */
export function secondsToNextMinute(now: number): number {
  return Math.ceil((60_000 - (now % 60_000)) / 1_000);
}

/** Longer than any test runs; as long as a timer may be. */
const neverMs = 2 ** 31 - 1;

/**
 * Lets no timer of this process end that is as long as this or longer: polls, heartbeats and time limits never come. What
 * `work` waits for then has another cause, however slow the machine is. Timers of libraries that have kept the functions go on.
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

/** @returns how long the time limits (`AbortSignal.timeout`) are that `work` sets, in milliseconds and in their order */
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
