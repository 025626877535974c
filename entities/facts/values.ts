/** The values that columns of facts and list tallies may hold. */

/** The priority of work. 0 means that a person waits, 1 is normal, and 2 is bulk. Lower numbers come first (ENG-15). */
export const priorities = [0, 1, 2] as const;
export type Priority = (typeof priorities)[number];
export const bulk = 2 satisfies Priority;

/** The lists that have tallies. Triggers update the tallies. Only events of mails are counted by the transaction that records the event. */
export const talliedLists = [
  'students',
  'enrollments',
  'certificates',
  'mails_open',
  'mails_sent',
  'mails_skipped',
  'mails_failed',
  'mails_skipped_suppressed',
  'mails_skipped_unsubscribed',
  'mails_skipped_bounced',
  'mails_skipped_complained',
  'mails_skipped_invalid_email',
  'mails_skipped_no_longer_eligible',
  'mails_skipped_student_removed',
  'mails_skipped_canceled',
  'mails_delivered',
  'mails_bounced',
  'mails_complained',
  'mails_opened',
  'mails_clicked',
  'mails_links_clicked',
  'automation_runs_active',
  'automation_runs_completed',
  'automation_runs_exited',
  'automation_runs_failed',
  'submissions_submitted',
  'submissions_approved',
  'submissions_changes_requested',
  'media_video',
  'media_image',
  'media_audio',
  'media_pdf',
  'media_file',
  'media_embed',
  'space_members',
  'space_posts',
  'post_comments',
  'reactions_like',
  'reactions_love',
  'reactions_celebrate',
  'reactions_insightful',
  'reactions_support',
  'reactions_laugh',
  'reports_open',
  'moderations',
  'sessions_booked',
  'sessions_canceled',
  'sessions_no_show',
] as const;
export type TalliedList = (typeof talliedLists)[number];

/**
 * Details of a fact that the record no longer contains when the service writes the body of the event. They are only opaque ids, times and
 * numbers.
 */
export interface FactDetails {
  previousEndsAt?: string;
  previousCohortId?: string;
  /** The times at which automations started one another on the way to this fact, with the oldest first (AUTO-14). */
  links?: readonly string[];
  /** The automation run in which a step recorded the fact. */
  runId?: string;
}
