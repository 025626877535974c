/** The limits of indexing, and its error codes. */

/** The errors of indexing. All except the last are faults of the file, and another try would fail too. */
export const indexingErrors = [
  'file_corrupt',
  'file_encrypted',
  /** The source has no text: it has only pictures, or no content. */
  'no_text',
  'too_many_pages',
  'too_large',
  'unsupported_type',
  'file_missing',
  'took_too_long',
  /** The platform, and not the file, caused the failure of all attempts. */
  'indexing_failed',
] as const;
export type IndexingError = (typeof indexingErrors)[number];

export const indexingRules = {
  maxFileBytes: 100 * 1_024 * 1_024,
  maxPages: 2_000,
  /** The maximum number of characters of a source's text. */
  maxText: 10_000_000,
  maxPassages: 50_000,
  /**
   * `pieceBytes` is the size of the pieces in which a file is fetched. `passagesAStatement` is the number of passages that one statement
   * writes.
   */
  pieceBytes: 8 * 1_024 * 1_024,
  passagesAStatement: 2_000,
  /** The number of passages or citations of a removed source that one transaction deletes. This takes about a second. */
  removedAStatement: 1_000,
  /** The total unpacked size of the entries that are read from an archive (DOCX, PPTX). */
  maxUnpackedBytes: 64 * 1_024 * 1_024,
  maxEntries: 10_000,
  /** The memory limits of the thread that reads a file: one for its objects, and one for its buffers. */
  maxHeapMb: 512,
  maxBuffersMb: 512,
  /** The time limit for the extraction of a file. */
  extractionMs: 120_000,
  /**
   * The length of a claim without renewal, and the interval of renewals. Both are short. So if a worker dies, another worker can soon claim
   * its source.
   */
  leaseMs: 10_000,
  renewalMs: 2_500,
} as const;

/**
 * The version of the code that reads files and lessons. Increase this number after a change that makes the code read a file differently.
 * Then every source is read again as bulk work (reading-again.ts).
 */
export const readerVersion = 3;

/**
 * The waits after attempts that failed without a fault of the file. The sum of the waits is longer than an hour, so that an outage of the
 * store for an hour does not fail a source.
 */
const waitsMs = [5_000, 30_000, 120_000, 600_000, 1_800_000, 3_600_000];

/** The maximum number of attempts to index one version of a source. */
export const maxAttempts = waitsMs.length + 1;

/**
 * @param attempts the number of attempts so far
 * @returns the milliseconds until the next attempt; undefined if no further attempt is made
 */
export function waitAfter(attempts: number): number | undefined {
  return waitsMs[attempts - 1];
}

/** The longest wait. Work that must succeed is repeated at this interval without a limit. */
export const longestWaitMs = Math.max(...waitsMs);
