/** Waits for effects of other processes: checks repeatedly, and fails with the name of the effect after a timeout. */
import { setTimeout as sleep } from 'node:timers/promises';

/** Checks every 20 ms until a value exists. @throws Error with the missing effect, when the time is over */
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
