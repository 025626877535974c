/** The bounds of indexing, and the words for what a source cannot be indexed for. */

/** Why a source could not be indexed; all but the last are faults of the file, and the same the next time. */
export const indexingErrors = [
  'file_corrupt',
  'file_encrypted',
  /** Nothing to read in it: pictures alone, or nothing at all. */
  'no_text',
  'too_many_pages',
  'too_large',
  'unsupported_type',
  'file_missing',
  'took_too_long',
  /** A fault of ours, as often as it was tried. */
  'indexing_failed',
] as const;
export type IndexingError = (typeof indexingErrors)[number];

export const indexingRules = {
  maxFileBytes: 100 * 1_024 * 1_024,
  maxPages: 2_000,
  /** Characters of a source, read out. */
  maxText: 10_000_000,
  maxPassages: 50_000,
  /** A file is fetched in pieces of this size, passages are written so many a statement. */
  pieceBytes: 8 * 1_024 * 1_024,
  passagesAStatement: 2_000,
  /** Passages, or citations, of a removed source that go in one transaction: a second's work. */
  removedAStatement: 1_000,
  /** What the entries of an archive (DOCX, PPTX) that are read come to, unpacked. */
  maxUnpackedBytes: 64 * 1_024 * 1_024,
  maxEntries: 10_000,
  /** Memory of the thread that reads a file: its objects, and its buffers beside them. */
  maxHeapMb: 512,
  maxBuffersMb: 512,
  /** Reading a file out may take so long. */
  extractionMs: 120_000,
  /** A claim lasts for so long if it is not renewed, and is renewed so often: a dead worker's is soon free. */
  leaseMs: 10_000,
  renewalMs: 2_500,
} as const;

/**
 * Of the readers of files and lessons. Raise it where they read a file otherwise than before: every source is then read again, as
 * bulk work (reading-again.ts).
 */
export const readerVersion = 3;

/** The waits after attempts that failed by a fault of ours: an outage of the store of an hour and more is outlived. */
const waitsMs = [5_000, 30_000, 120_000, 600_000, 1_800_000, 3_600_000];

/** Attempts at a version of a source. */
export const maxAttempts = waitsMs.length + 1;

/** @param attempts how many were made @returns milliseconds until the next; undefined where there is none */
export function waitAfter(attempts: number): number | undefined {
  return waitsMs[attempts - 1];
}

/** The longest of these waits: what has to be done in the end is tried so often without an end. */
export const longestWaitMs = Math.max(...waitsMs);
