/** The interface of the store that keeps the limiter's counters. */

/** The counters are unreachable, or did not answer in time. */
export class CountersUnavailable extends Error {
  constructor(cause?: unknown) {
    super('The counters of the rate limits are unreachable.', { cause });
    this.name = 'CountersUnavailable';
  }
}

/** The time for which a request may wait for its counter, in milliseconds. After this time the counters count as unavailable. */
export const storeDeadlineMs = 500;

/** Counters that several processes share. Every method rejects with the driver's error if the store is unavailable. */
export interface CounterStore {
  /**
   * Adds to a counter, atomically.
   * @param keepSeconds the lifetime of a new counter
   * @param by the number to add; the default is 1, and -1 removes a call from the count
   * @returns the count, including this call
   */
  increment(key: string, keepSeconds: number, by?: 1 | -1): Promise<number>;
  /** @returns the count, or 0 if the counter is missing. This call never creates a counter. */
  read(key: string): Promise<number>;
  /** Resolves when the store can count. */
  ready(): Promise<void>;
  /** Closes the connections. The store cannot be used afterwards. */
  close(): Promise<void>;
}
