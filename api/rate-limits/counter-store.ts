/** The store of the limiter's counters. */

/** The store is unreachable, or did not answer in time. */
export class CountersUnavailable extends Error {
  constructor(cause?: unknown) {
    super('The counters of the rate limits are unreachable.', { cause });
    this.name = 'CountersUnavailable';
  }
}

/** In milliseconds. After this time the counters count as unavailable. */
export const storeDeadlineMs = 500;

/** Several processes share the counters. Every method rejects with the driver's error if the store is unavailable. */
export interface CounterStore {
  /**
   * Atomically.
   * @param keepSeconds of a new counter
   * @param by -1 removes a call from the count
   * @returns the count, including this call
   */
  increment(key: string, keepSeconds: number, by?: 1 | -1): Promise<number>;
  /** @returns 0 if the counter is missing; never creates it */
  read(key: string): Promise<number>;
  ready(): Promise<void>;
  close(): Promise<void>;
}
