/** Removes a student's extensions and submissions, with the texts and reviews of the submissions. */
import { AssignmentExtension } from '../../entities/assignments/assignment-extension.ts';
import { AssignmentSubmission } from '../../entities/assignments/assignment-submission.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { Transaction } from '../../platform/infra/postgres/database.ts';
import { detachReviewsOf } from './attachments.ts';

/**
 * Deletes a removed student's data in this context, except the files, which the media context erases. The caller holds the lock of the
 * student.
 */
export async function purgeStudentFromAssignments(tx: Transaction, studentId: Id): Promise<void> {
  await detachReviewsOf(tx, studentId);
  await tx.manager.delete(AssignmentSubmission, { studentId });
  await tx.manager.delete(AssignmentExtension, { studentId });
}
