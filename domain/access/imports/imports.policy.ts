/** The limits of student imports. */

import { endedImportStatuses, type EndedImportStatus, type ImportStatus } from '../../../entities/access/values.ts';

export function hasImportEnded(status: ImportStatus): status is EndedImportStatus {
  return endedImportStatuses.some((ended) => ended === status);
}

export const importRules = {
  fileBytes: 32 * 1_024 * 1_024,
  /** The maximum number of imports of a club that have not ended. This number also limits the number of a club's files in the store. */
  maxOpen: 10,
  /** The header line must end within this number of bytes. */
  headBytes: 64 * 1_024,
  /** The number of bytes that are read from the store at a time. A row can have at most this size. */
  pieceBytes: 128 * 1_024,
  batchRows: 500,
  /** The maximum number of enrollments that a transaction creates. So a batch has fewer rows if the import grants many deliveries. */
  batchGrants: 4_000,
  /** The maximum length of a name, as in the API contract. It counts characters, not bytes. */
  nameCharacters: 120,
  emailCharacters: 254,
  /** An upload that has not ended after this time was interrupted, because the server allows only 5 minutes for a body. */
  uploadMs: 15 * 60_000,
  /** A running workflow never waits longer than this time between two of its steps. */
  silenceMs: 10 * 60_000,
  /** A waiting import checks at this interval whether it may run. An import that ends also wakes it. */
  turnMs: 30_000,
  /** The maximum number of ignored columns in the answer, and the maximum number of characters of a column's name. */
  ignoredColumns: 50,
  ignoredColumnCharacters: 80,
} as const;

/** @returns the number of rows that one transaction handles, if the import grants this number of deliveries */
export function rowsABatch(deliveries: number): number {
  return Math.max(1, Math.min(importRules.batchRows, Math.floor(importRules.batchGrants / Math.max(1, deliveries))));
}
