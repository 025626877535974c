/** What the limiter asks of the place that keeps its counters. */

/** The counters cannot be reached, or did not answer in time. */
export class CountersUnavailable extends Error {
  constructor(cause?: unknown) {
    super('The counters of the rate limits cannot be reached.', { cause });
    this.name = 'CountersUnavailable';
  }
}

/** How long a request may wait for its counter, in milliseconds; then the counters count as down. */
export const storeDeadlineMs = 500;

/** Counters that several processes share. Every method rejects with the driver's error when the store cannot be used. */
export interface CounterStore {
  /**
   * Adds to a counter, atomically.
   * @param keepSeconds how long a counter that is new is kept
   * @param by 1 if absent; -1 takes an earlier call back
   * @returns the count, this call included
   */
  increment(key: string, keepSeconds: number, by?: 1 | -1): Promise<number>;
  /** @returns the count; 0 for a counter that is not there, which this does not make */
  read(key: string): Promise<number>;
  /** Resolves when the store can count. */
  ready(): Promise<void>;
  /** Gives the connections back; the store cannot be used afterwards. */
  close(): Promise<void>;
}
