/** The limits of exports of students, and the sections of their document (EXP-1 to EXP-5). */
import type { Id } from '../../../platform/core/ids.ts';
import type { ExportSectionName } from '../../questions.ts';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

export const studentExportRules = {
  /** A student has at most one export in this time (EXP-1). */
  everyMs: dayMs,
  /** The file is removed this long after it is ready. */
  fileMs: 7 * dayMs,
  /** A row is deleted this long after its request. */
  rowMs: 90 * dayMs,
  /** The address of the file is good for this time. */
  addressSeconds: 15 * 60,
  leaseSeconds: 30,
  renewalMs: 5_000,
  /** After this number of failed attempts, the export fails. */
  attempts: 5,
  /** The pause after a failed attempt. */
  faultWaitMs: minuteMs,
  /** The pause if the disk of the worker has no room. */
  diskWaitMs: 5 * minuteMs,
  /** The room on the worker's disk without which no document is written. */
  reserveBytes: 256 * 1_024 * 1_024,
  /** An object without a recorded row is erased this long after its upload began. Longer than a step. */
  unrecordedMs: 2 * 60 * minuteMs,
  /** The number of records that are in memory at a time. */
  recordsPerFetch: 100,
  /** A ZIP with more files would need too much memory for its directory. */
  maxFiles: 50_000,
} as const;

/** The sections in the order of the document. */
export const sectionNames = [
  'profile',
  'sign_in_sessions',
  'passkeys',
  'session_links',
  'mail_preferences',
  'service_mails',
  'mails',
  'mail_clicks',
  'enrollments',
  'registration_links',
  'imports',
  'bulk_actions',
  'lessons',
  'courses',
  'points',
  'levels',
  'tags',
  'certificates',
  'lesson_comments',
  'submissions',
  'assignment_extensions',
  'mentorship_sessions',
  'conversations',
  'messages',
  'space_memberships',
  'posts',
  'post_comments',
  'replies',
  'reactions',
  'reports',
  'purchases',
  'subscriptions',
  'sales_notices',
  'automation_runs',
  'events',
  'files',
  'exports',
] as const satisfies readonly ExportSectionName[];

/** A type error here names sections of the contract that the list lacks. */
export const lacksNoSection: Record<Exclude<ExportSectionName, (typeof sectionNames)[number]>, never> = {};

/** The name of the document in the ZIP. */
export const documentName = 'export.json';

interface NamedFile {
  id: Id;
  clubId: Id;
  studentId: Id;
  /** The fence of the claim that writes the file. */
  fence: number;
}

/** Each attempt writes an object of its own, so a worker that lost its lease cannot replace a finished file. */
export const objectKeyOf = ({ id, clubId, studentId, fence }: NamedFile): string =>
  `exports/${clubId}/${studentId}/${id}-${fence}.zip`;
