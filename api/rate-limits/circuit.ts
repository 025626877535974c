/** A circuit breaker for an unavailable store. After a failure, one call a second tries the store. The other calls fail immediately. */
import { CountersUnavailable, storeDeadlineMs } from './counter-store.ts';

/** The time for which a failed store is not called, in milliseconds. */
const restMs = 1_000;

export type Circuit = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * @param clock the clock in milliseconds. If the clock goes backwards, the next call tries the store
 * @param onFailure is called with each failure of the store. While the store is down, failures are rare: at most one a second, and one for
 * each call that was already running
 * @returns a function that runs work on the store. It rejects with {@link CountersUnavailable} if the work fails, takes longer than
 * `deadlineMs`, or is not tried because the circuit is open.
 */
export function createCircuit(
  clock: () => number,
  onFailure: (error: unknown) => void,
  deadlineMs: number = storeDeadlineMs,
): Circuit {
  let failedAt: number | undefined;

  return async (work) => {
    if (failedAt !== undefined) {
      const rested = clock() - failedAt;
      if (rested >= 0 && rested < restMs) throw new CountersUnavailable();
      failedAt = clock(); // this call tries the store, and simultaneous calls do not
    }
    try {
      const result = await within(deadlineMs, work());
      failedAt = undefined;
      return result;
    } catch (error) {
      failedAt = clock();
      onFailure(error);
      throw new CountersUnavailable(error);
    }
  };
}

/** Rejects after the deadline. The work is not stopped here, because the store's own time limits end it. */
async function within<T>(deadlineMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`No answer within ${deadlineMs} ms.`)), deadlineMs);
  });
  try {
    return await Promise.race([work, deadline]);
  } finally {
    clearTimeout(timer);
  }
}
