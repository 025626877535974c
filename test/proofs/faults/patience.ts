import { setTimeout as sleep } from 'node:timers/promises';

const pauseMs = 500;

/** Does it again until nothing fails: Postgres is dead for a while, again and again. @returns what it gave */
export async function untilDone<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch {
      await sleep(pauseMs);
    }
  }
}
