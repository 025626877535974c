/** The limits of exports of clubs (EXP-10 to EXP-16). */

const hour = 3_600_000;
const day = 24 * hour;

export const clubExportRules = {
  /** The version of the archive's format. A reader that knows this version can read every archive with this number. */
  formatVersion: 1,
  /** An archive is erased this long after it was complete. */
  keptMs: 7 * day,
  /** A club gets one export in this time. */
  intervalMs: day,
  /** An export that takes longer fails. */
  longestMs: day,
  /** A row is deleted this long after the request. */
  retentionMs: 90 * day,
  /** A step reads records for this long, so that a reader sees progress every few seconds. */
  stepMs: 2_000,
  /** A step stores a piece when its lines have this size in bytes. Two such pieces are the most that a worker keeps in memory. */
  pieceBytes: 4 * 1_024 * 1_024,
  /** The rows of one page of a list. */
  pageRows: 100,
  /** A page with records of this size in bytes is full. */
  pageBytes: 1_024 * 1_024,
  /** The store may execute a request late, after its caller has died. After this time it has executed every request. */
  lateMs: hour,
  leaseMs: 30_000,
  /** The time between two renewals of a lease. */
  renewalMs: 5_000,
} as const;

/** @returns the beginning of the object keys of an export */
export const exportPrefix = ({ clubId, id }: { clubId: string; id: string }): string => `exports/${clubId}/club/${id}/`;

/** The key contains the fence of the step. So a step that lost its lease overwrites no archive or piece of a later step. */
export const archiveKeyOf = (row: { clubId: string; id: string }, fence: number): string =>
  `${exportPrefix(row)}archive-${fence}.zip`;

export const pieceKeyOf = (row: { clubId: string; id: string }, name: string, piece: number, fence: number): string =>
  `${exportPrefix(row)}pieces/${name}-${piece}-${fence}.jsonl`;
