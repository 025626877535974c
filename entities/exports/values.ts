/** The values that columns of exports may hold. */

export const clubExportStatuses = ['pending', 'running', 'ready', 'failed', 'expired'] as const;
export type ClubExportStatus = (typeof clubExportStatuses)[number];

/** The exported records of one type. */
export interface ExportedType {
  /** The name of the type in the contract. */
  name: string;
  records: number;
  /** The size of the JSON lines in bytes. */
  bytes: number;
  /** The CRC-32 of all lines so far. */
  crc32: number;
  /** The fence of the step that stored each piece. It is a part of the key of the piece. */
  pieces: number[];
}

/** How far the records are exported: the types in their order, the last of them perhaps incomplete. */
export interface ClubExportProgress {
  types: ExportedType[];
  /** The place in the walk of the last type. Absent if the last type is complete. */
  next?: string;
  /** When the last record was read, ISO 8601. Absent while records remain. */
  recordedAt?: string;
  /** The fence of the step that stored the archive. It is a part of the key of the archive. */
  archiveFence?: number;
  /** The objects are erased. They are erased once more later, because the store may execute an earlier request late. */
  erased?: true;
}

/** `expired`: the file was removed after its time. The row stays for some months. */
export const studentExportStatuses = ['pending', 'running', 'ready', 'failed', 'expired'] as const;
export type StudentExportStatus = (typeof studentExportStatuses)[number];

/** The callers that may ask for an export: an administrator of the club, or the student. */
export const exportRequesters = ['administrator', 'student'] as const;
export type ExportRequester = (typeof exportRequesters)[number];
