/** The bounds of student imports. */

import { endedImportStatuses, type EndedImportStatus, type ImportStatus } from '../../../entities/access/values.ts';

export function hasImportEnded(status: ImportStatus): status is EndedImportStatus {
  return endedImportStatuses.some((ended) => ended === status);
}

export const importRules = {
  /** Largest file, in bytes. */
  fileBytes: 32 * 1_024 * 1_024,
  /** The maximum number of imports of a club that have not ended. It also bounds the files of a club in the store. */
  maxOpen: 10,
  /** The header line must end within this size. */
  headBytes: 64 * 1_024,
  /** The size of one read from the store, and of the longest row. */
  pieceBytes: 128 * 1_024,
  /** Rows of a transaction. */
  batchRows: 500,
  /** Enrollments of a transaction. A batch with many deliveries has fewer rows. */
  batchGrants: 4_000,
  /** The limit of the contract, in characters and not bytes. */
  nameCharacters: 120,
  emailCharacters: 254,
  /** An upload that has not ended by then was interrupted: the server allows a body 5 minutes. */
  uploadMs: 15 * 60_000,
  /** The longest time between two steps of a living workflow. */
  silenceMs: 10 * 60_000,
  /** The pause between two checks whether a waiting import may run, besides when it is woken. */
  turnMs: 30_000,
  /** The number of ignored columns that are named, and the characters of each name. */
  ignoredColumns: 50,
  ignoredColumnCharacters: 80,
} as const;

/** @returns the number of rows of a transaction, for this number of deliveries */
export function rowsABatch(deliveries: number): number {
  return Math.max(1, Math.min(importRules.batchRows, Math.floor(importRules.batchGrants / Math.max(1, deliveries))));
}
