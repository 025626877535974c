/** Time that tests hold: timers that run only as far as they are told, and a time of day that stands still. */
import { syncBuiltinESMExports } from 'node:module';
import { mock } from 'node:test';

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
 * Lets the time of day of this process stand still, so that windows and lifetimes do not depend on how fast the machine is.
 * The API's clock stands still with it; what a test adds to that clock still counts. Timers and Postgres go on.
 */
export async function withClockStopped<T>(work: (now: number) => Promise<T>): Promise<T> {
  const now = Date.now();
  const clock = mock.method(Date, 'now', () => now);
  try {
    return await work(now);
  } finally {
    clock.mock.restore();
  }
}

/** @returns the `Retry-After` of a caller who is to come back in the next minute of the clock */
export function secondsToNextMinute(now: number): number {
  return Math.ceil((60_000 - (now % 60_000)) / 1_000);
}
