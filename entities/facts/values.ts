/** The values that columns of facts and list tallies may hold. */

/** How urgent work is: 0 a person waits for it, 1 normal, 2 bulk. The lower goes first (ENG-15). */
export type Priority = 0 | 1 | 2;
export const bulk = 2 satisfies Priority;

/** The lists that triggers keep tallies of. */
export const talliedLists = [
  'students',
  'enrollments',
  'certificates',
  'mails_open',
  'mails_sent',
  'mails_skipped',
  'mails_failed',
] as const;
export type TalliedList = (typeof talliedLists)[number];

/** What a fact's record cannot say any more when the body is assembled: opaque ids, times and numbers. */
export interface FactDetails {
  previousEndsAt?: string;
  previousCohortId?: string;
}
