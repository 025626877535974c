/** The values that columns of bulk jobs may hold. */

export const bulkJobStatuses = ['pending', 'running', 'completed', 'canceled'] as const;
export type BulkJobStatus = (typeof bulkJobStatuses)[number];

export const endedBulkJobStatuses = ['completed', 'canceled'] as const satisfies readonly BulkJobStatus[];
export type EndedBulkJobStatus = (typeof endedBulkJobStatuses)[number];

/** `unchanged`: the student was already in the state that the action leads to. */
export const bulkOutcomes = ['pending', 'applied', 'unchanged', 'failed', 'canceled'] as const;
export type BulkOutcome = (typeof bulkOutcomes)[number];

/** The reasons for which a row failed, and `duplicate`: an earlier row names the same student. */
export const bulkRowCodes = [
  'student_not_found',
  'student_removed',
  'duplicate',
  'target_not_found', // the tag, the delivery or the cohort was deleted after the request
  'delivery_archived',
  'invalid_request', // the access would end before it begins
  'limit_reached',
] as const;
export type BulkRowCode = (typeof bulkRowCodes)[number];

/** The action of a job on each of its students. Times are ISO 8601 in UTC. */
export type BulkAction =
  | { kind: 'tag' | 'untag'; tagId: string }
  | { kind: 'grant'; deliveryId: string; cohortId?: string; startsAt?: string; endsAt?: string }
  | { kind: 'revoke'; deliveryId: string }
  | { kind: 'award_points'; points: number; note?: string };
export type BulkActionKind = BulkAction['kind'];
