/** Waits for the effects of other processes: looks repeatedly, and fails by name after a timeout. */
import { setTimeout as sleep } from 'node:timers/promises';

/** Looks every 20 ms until a value exists. @throws Error naming what did not come in time */
export async function until<T>(
  what: string,
  { timeoutMs }: { timeoutMs: number },
  look: () => Promise<T | undefined | false>,
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > deadline) throw new Error(`${what} did not come within ${timeoutMs} ms.`);
    await sleep(20);
  }
}
