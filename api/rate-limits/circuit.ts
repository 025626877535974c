/** Keeps a store that is down from costing every request a wait: after a failure, one call a second tries it, the others fail at once. */
import { CountersUnavailable, storeDeadlineMs } from './counter-store.ts';

/** How long a store that failed is left alone, in milliseconds. */
const restMs = 1_000;

export type Circuit = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * @param clock milliseconds; should it go backwards, the store is tried again
 * @param onFailure called with each failure of the store itself: at most one a second once it is down, besides calls that were under way
 * @returns runs work on the store; rejects with {@link CountersUnavailable} when it fails, takes longer than
 *   `deadlineMs`, or is not tried because the store has just failed
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
      failedAt = clock(); // this call tries; those that come while it waits do not
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

/** Rejects after the deadline; the work itself is ended by the store's own time limits. */
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
