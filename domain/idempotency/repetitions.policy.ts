/** The limits of the answers that are kept for repeated requests. */

export const repetitionRules = {
  /** The time for which an answer is kept (IDEM-2). */
  keptMs: 24 * 3_600_000,
  /** The maximum size of headers and body together, in bytes. A larger answer is not kept (IDEM-7). */
  answerBytes: 64 * 1_024,
  expiredPerBatch: 5_000,
} as const;
