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
const sections = {
  profile: true,
  sign_in_sessions: true,
  passkeys: true,
  session_links: true,
  mail_preferences: true,
  service_mails: true,
  mails: true,
  mail_clicks: true,
  enrollments: true,
  registration_links: true,
  imports: true,
  bulk_actions: true,
  lessons: true,
  courses: true,
  points: true,
  levels: true,
  tags: true,
  certificates: true,
  lesson_comments: true,
  submissions: true,
  assignment_extensions: true,
  mentorship_sessions: true,
  conversations: true,
  messages: true,
  space_memberships: true,
  posts: true,
  post_comments: true,
  replies: true,
  reactions: true,
  reports: true,
  purchases: true,
  subscriptions: true,
  sales_notices: true,
  automation_runs: true,
  events: true,
  files: true,
  exports: true,
} as const satisfies Record<ExportSectionName, true>;
export const sectionNames = Object.keys(sections) as readonly ExportSectionName[];

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
