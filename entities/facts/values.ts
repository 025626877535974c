/** The values that columns of facts and list tallies may hold. */

/** The lists that triggers keep tallies of. */
export const talliedLists = ['students', 'enrollments', 'certificates'] as const;
export type TalliedList = (typeof talliedLists)[number];

/** What a fact's record cannot say any more when the body is assembled: opaque ids, times and numbers. */
export interface FactDetails {
  previousEndsAt?: string;
  previousCohortId?: string;
}
