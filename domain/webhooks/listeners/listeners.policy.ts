/** The bounds and times of listeners (LSN-2, LSN-4, LSN-6). */

const second = 1_000;
const minute = 60 * second;

export const listenerRules = {
  /** The living listeners of a club. */
  perClub: 5,
  /** The interval at which the process of a stream writes its heartbeat. */
  heartbeatMs: 15 * second,
  /** A listener counts as living for this time after its last heartbeat. */
  livesMs: 45 * second,
  /** A listener without a heartbeat for this time is removed. */
  removedAfterMs: 10 * minute,
  /** A listener that resumes after a longer time gets a gap, and only the events of this time. */
  resumesMs: 60 * minute,
  /** The events that a stream reads at a time. */
  pageSize: 100,
  /**
   * The time for which a stream sends the events of one read. After that it reads the rest again, because a student of these events may
   * have been removed.
   */
  pageLastsMs: second,
  /** The interval at which a process looks for new events of all its listeners. On average, half of it delays an event. */
  lookEveryMs: 200,
} as const;
