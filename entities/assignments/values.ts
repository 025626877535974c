/** The values that columns of assignments may hold. */

/** `submitted` waits for a review; `approved` is final; `changes_requested` went back to the student (STATE-21). */
export const submissionStatuses = ['submitted', 'approved', 'changes_requested'] as const;
export type SubmissionStatus = (typeof submissionStatuses)[number];

/** What a review says: the submission has this status then. */
export const reviewOutcomes = ['approved', 'changes_requested'] as const;
export type ReviewOutcome = (typeof reviewOutcomes)[number];
