/** Defines the limits and the error codes of indexing. */

/** All codes except the last mean a fault of the file, so a further attempt would also fail. */
export const indexingErrors = [
  'file_corrupt',
  'file_encrypted',
  /** The source has only pictures, or no content. */
  'no_text',
  'too_many_pages',
  'too_large',
  'unsupported_type',
  'file_missing',
  'took_too_long',
  /** All attempts failed because of the platform, not because of the file. */
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
   * `pieceBytes` is the size of the pieces in which a file is read from the store. `passagesAStatement` is the number of passages that one
   * statement writes.
   */
  pieceBytes: 8 * 1_024 * 1_024,
  passagesAStatement: 2_000,
  /** A transaction that deletes this many passages or citations takes about a second. */
  removedAStatement: 1_000,
  /** The maximum total size, after unpacking, of the entries that are read from an archive (DOCX, PPTX). */
  maxUnpackedBytes: 64 * 1_024 * 1_024,
  maxEntries: 10_000,
  /** The memory limits of the thread that reads a file: one for its objects, and one for its buffers. */
  maxHeapMb: 512,
  maxBuffersMb: 512,
  extractionMs: 120_000,
  /**
   * The time after which a claim ends if it is not renewed, and the interval of renewals. Both are short, so that a different worker can
   * soon claim the source if a worker dies.
   */
  leaseMs: 10_000,
  renewalMs: 2_500,
} as const;

/**
 * The version of the readers. Increase it after a change that makes them read a file differently. Then every source is read again with the
 * priority `bulk` (reading-again.ts).
 */
export const readerVersion = 3;

/**
 * The waits after attempts that failed without a fault of the file. Together they take more than an hour, so that an outage of the store
 * for an hour fails no source.
 */
const waitsMs = [5_000, 30_000, 120_000, 600_000, 1_800_000, 3_600_000];

export const maxAttempts = waitsMs.length + 1;

/**
 * @param attempts the number of attempts so far
 * @returns the number of milliseconds until the next attempt; undefined if no further attempt is made
 */
export function waitAfter(attempts: number): number | undefined {
  return waitsMs[attempts - 1];
}

/** Work that must succeed, such as a removal, is repeated at this interval. */
export const longestWaitMs = Math.max(...waitsMs);
