/** The values that columns of assignments may hold. */

/** `submitted` waits for a review; `approved` is final; `changes_requested` means that the student must change the work (STATE-21). */
export const submissionStatuses = ['submitted', 'approved', 'changes_requested'] as const;
export type SubmissionStatus = (typeof submissionStatuses)[number];

/** The outcomes of a review. The submission gets this status. */
export const reviewOutcomes = ['approved', 'changes_requested'] as const;
export type ReviewOutcome = (typeof reviewOutcomes)[number];
