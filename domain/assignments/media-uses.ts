/** Defines how assignments and reviews use library files. */
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { MediaUseRules } from '../media/use-rules.ts';

export const assignmentMediaUses = {
  assignment: {
    title: sql`SELECT coalesce(assignment.block_label, lesson.title) FROM assignments assignment
      JOIN lessons lesson ON lesson.id = assignment.lesson_id WHERE assignment.id = use.place_id`,
    isLive: sql`EXISTS (
      SELECT FROM assignments assignment JOIN lessons lesson ON lesson.id = assignment.lesson_id
       WHERE assignment.id = use.place_id AND lesson.removed_at IS NULL)`,
  },
  assignment_review: {
    title: sql`SELECT coalesce(assignment.block_label, lesson.title) FROM assignment_reviews review
      JOIN assignment_attempts attempt ON attempt.id = review.attempt_id
      JOIN assignment_submissions submission ON submission.id = attempt.submission_id
      JOIN assignments assignment ON assignment.id = submission.assignment_id
      JOIN lessons lesson ON lesson.id = assignment.lesson_id WHERE review.id = use.place_id`,
  },
} as const satisfies MediaUseRules;
