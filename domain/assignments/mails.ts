/** Defines the mails about a review of an assignment (ASG-12). Each mail is sent only if the submission still exists. */
import { AssignmentAttempt } from '../../entities/assignments/assignment-attempt.ts';
import { Lesson } from '../../entities/learning/lesson.ts';
import { columns, sql } from '../../platform/infra/postgres/sql.ts';
import type { MailKind, MailKinds } from '../mail/kinds.ts';

const reviewColumns = columns(AssignmentAttempt, { id: 'submissionId' }, 'attempt').and(
  columns(Lesson, { lessonTitle: 'title' }, 'lesson'),
);

const aboutReview: MailKind = (db, { reviewId }) =>
  db.one(sql`
    SELECT ${reviewColumns}
      FROM assignment_reviews review
      JOIN assignment_attempts attempt ON attempt.id = review.attempt_id
      JOIN assignment_submissions submission ON submission.id = attempt.submission_id
      JOIN assignments assignment ON assignment.id = submission.assignment_id
      JOIN lessons lesson ON lesson.id = assignment.lesson_id
     WHERE review.id = ${reviewId}`);

export const assignmentMails = {
  assignment_approved: aboutReview,
  assignment_changes_requested: aboutReview,
} as const satisfies MailKinds;
