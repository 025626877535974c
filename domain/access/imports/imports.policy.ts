/** When a student import has ended, and its bounds. */

import { endedImportStatuses, type EndedImportStatus, type ImportStatus } from '../../../entities/access/values.ts';

/** Statuses that an import does not leave any more. */
export function hasImportEnded(status: ImportStatus): status is EndedImportStatus {
  return endedImportStatuses.some((ended) => ended === status);
}

export const importRules = {
  /** Largest file, in bytes. */
  fileBytes: 32 * 1_024 * 1_024,
  /** Of a club, imports that have not ended: so many files of the largest size are the most that it keeps in the store. */
  maxOpen: 10,
  /** The header line ends within these. */
  headBytes: 64 * 1_024,
  /** What is read from the store at a time, and the longest row. */
  pieceBytes: 128 * 1_024,
  /** Rows of a transaction. */
  batchRows: 500,
  /** Enrollments of a transaction: with many deliveries, a batch has fewer rows. */
  batchGrants: 4_000,
  /** As a name of the contract: characters, not bytes. */
  nameCharacters: 120,
  emailCharacters: 254,
  /** An upload that has not ended by then has broken off: the server gives a body 5 minutes. */
  uploadMs: 15 * 60_000,
  /** No step of a living workflow is this far from the next. */
  silenceMs: 10 * 60_000,
  /** How often an import looks whether it is its turn, besides when it is woken. */
  turnMs: 30_000,
  /** Of the columns that are passed over, so many are named, each by so many characters. */
  ignoredColumns: 50,
  ignoredColumnCharacters: 80,
} as const;

/** @returns how many rows a transaction takes, for so many deliveries */
export function rowsABatch(deliveries: number): number {
  return Math.max(1, Math.min(importRules.batchRows, Math.floor(importRules.batchGrants / Math.max(1, deliveries))));
}
