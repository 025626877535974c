/** Lets administrators review the work of students (ASG-12). */
import { AssignmentReview } from '../../entities/assignments/assignment-review.ts';
import { AssignmentSubmission } from '../../entities/assignments/assignment-submission.ts';
import type { RecordOf } from '../../contract/contract.ts';
import { DomainError, notFound } from '../../platform/core/errors.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import type { VaultDeps } from '../deps.ts';
import { lockStudent } from '../identity/accounts/accounts.ts';
import { requestMail } from '../mail/transactional/requests.ts';
import type { MediaDeps } from '../media/media.ts';
import { attach } from './attachments.ts';
import { findWaiting } from './sending.ts';
import { isLateNow, readSubmission } from './submissions.ts';

export interface Reviewing {
  clubId: Id;
  submissionId: Id;
  reviewerId: Id;
}

/**
 * Approves an attempt finally, or requests changes, and mails the student. The review is refused if the attempt was already reviewed, or if
 * the student has sent a newer attempt. So no administrator approves unseen work.
 * @throws DomainError not_found (also if a file does not exist), media_archived, invalid_request (changes are requested without a comment),
 *   submission_changed
 */
export async function reviewSubmission(
  { db, vault, storage }: MediaDeps & VaultDeps,
  { clubId, submissionId, reviewerId }: Reviewing,
  { attempt: number, outcome, comment, media_ids: mediaIds = [] }: RecordOf<'AssignmentReviewCreation'>,
  now: Date,
): Promise<RecordOf<'AssignmentSubmissionDetail'>> {
  if (outcome === 'changes_requested' && comment === undefined)
    throw new DomainError('invalid_request', 'comment is missing. State which changes you request.');
  await db.transaction(async (tx) => {
    const submission = await tx.manager.findOneBy(AssignmentSubmission, { id: submissionId, clubId });
    if (!submission) throw notFound('submission');
    const { studentId } = submission;
    const { email } = await lockStudent(tx, clubId, studentId);
    const attempt = await findWaiting(tx, { submissionId, studentId }, number);
    const reviewId = newId();
    await tx.manager.insert(AssignmentReview, {
      id: reviewId,
      attemptId: attempt.id,
      outcome,
      comment: comment ?? null,
      reviewerId,
      createdAt: now,
    });
    await attach(tx, clubId, { kind: 'assignment_review', id: reviewId }, mediaIds);
    const late = outcome === 'approved' ? await isLateNow(tx, submissionId) : null;
    await tx.manager.update(AssignmentSubmission, { id: submissionId }, { status: outcome, reviewedAt: now, late });
    const template = `assignment_${outcome}` as const;
    await requestMail(tx, vault, { template, clubId, recipient: { studentId }, email, reviewId }, now);
  });
  return readSubmission(db, storage, clubId, submissionId);
}
