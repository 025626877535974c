/** The limits of indexing, and its error codes. */

/** The errors of indexing. All except the last are faults of the file, and another try would fail too. */
export const indexingErrors = [
  'file_corrupt',
  'file_encrypted',
  /** The source has nothing to read: only pictures, or nothing at all. */
  'no_text',
  'too_many_pages',
  'too_large',
  'unsupported_type',
  'file_missing',
  'took_too_long',
  /** The platform failed in all attempts. */
  'indexing_failed',
] as const;
export type IndexingError = (typeof indexingErrors)[number];

export const indexingRules = {
  maxFileBytes: 100 * 1_024 * 1_024,
  maxPages: 2_000,
  /** The maximum number of characters of a source's text. */
  maxText: 10_000_000,
  maxPassages: 50_000,
  /** The size of the pieces in which a file is fetched, and the number of passages per statement. */
  pieceBytes: 8 * 1_024 * 1_024,
  passagesAStatement: 2_000,
  /** Passages or citations of a removed source per transaction: about a second's work. */
  removedAStatement: 1_000,
  /** The total unpacked size of the entries that are read from an archive (DOCX, PPTX). */
  maxUnpackedBytes: 64 * 1_024 * 1_024,
  maxEntries: 10_000,
  /** The memory of the thread that reads a file: its objects, and its buffers in addition. */
  maxHeapMb: 512,
  maxBuffersMb: 512,
  /** The time limit for the extraction of a file. */
  extractionMs: 120_000,
  /**
   * The length of a claim without renewal, and the interval of renewals. They are short, so that the source of a dead worker is soon
   * free.
   */
  leaseMs: 10_000,
  renewalMs: 2_500,
} as const;

/**
 * The version of the readers of files and lessons. Raise it when they read a file differently: every source is then read again as
 * bulk work (reading-again.ts).
 */
export const readerVersion = 3;

/** The waits after attempts that failed without a fault of the file. Together they are longer than an outage of the store of an hour. */
const waitsMs = [5_000, 30_000, 120_000, 600_000, 1_800_000, 3_600_000];

/** The maximum number of attempts at a version of a source. */
export const maxAttempts = waitsMs.length + 1;

/** @param attempts the number of attempts so far @returns milliseconds until the next; undefined if there is none */
export function waitAfter(attempts: number): number | undefined {
  return waitsMs[attempts - 1];
}

/** The longest wait. Work that must finish is repeated at this interval without limit. */
export const longestWaitMs = Math.max(...waitsMs);
