/** A circuit breaker for an unavailable store: after a failure, one call a second tries the store, and the others fail immediately. */
import { CountersUnavailable, storeDeadlineMs } from './counter-store.ts';

/** In milliseconds. */
const restMs = 1_000;

export type Circuit = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * @param clock in milliseconds; if it goes backwards, the next call tries the store
 * @param onFailure gets each failure: while the store is down, at most one a second, and one for each call that was already running
 * @returns a function that runs work on the store. It rejects with {@link CountersUnavailable} if the work fails or takes too long, or the
 * circuit is open
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

/** The work is not stopped here: the store's own time limits end it. */
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
