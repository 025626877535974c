import { setTimeout as sleep } from 'node:timers/promises';

const pauseMs = 500;

/** Repeats `work` until it succeeds, because Postgres is down from time to time. */
export async function untilDone<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch {
      await sleep(pauseMs);
    }
  }
}
