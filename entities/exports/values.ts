/** The values that columns of exports may hold. */

/** `expired`: the file was removed after its time. The row stays for some months. */
export const studentExportStatuses = ['pending', 'running', 'ready', 'failed', 'expired'] as const;
export type StudentExportStatus = (typeof studentExportStatuses)[number];

/** The callers that may ask for an export: an administrator of the club, or the student. */
export const exportRequesters = ['administrator', 'student'] as const;
export type ExportRequester = (typeof exportRequesters)[number];
