/** Time that tests move by hand, for limits that are timers: `setTimeout` and `sleep` of everybody in this process wait for it. */
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
