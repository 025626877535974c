/** Waits for an effect of other processes. It checks again and again, and after a timeout it fails with the name of the effect. */
import { setTimeout as sleep } from 'node:timers/promises';

/** Calls the check every 20 ms until it returns a value. */
export async function until<T>(
  what: string,
  { timeoutMs }: { timeoutMs: number },
  look: () => Promise<T | undefined | false>,
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > deadline) throw new Error(`${what} did not happen within ${timeoutMs} ms.`);
    await sleep(20);
  }
}
