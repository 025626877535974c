/** The submitted work in the export of a student, with its reviews. A reviewer is not named (EXP-3). */
import type { ExportStudent } from '../questions.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';

export const exportAssignments: ExportStudent = ({ studentId }) => ({
  sections: {
    submissions: {
      records: sql`
        SELECT submission.id AS submission_id, submission.assignment_id, lesson.title AS lesson_title, assignment.prompt,
               submission.status, attempt.number AS attempt, attempt.text,
               ARRAY(SELECT media_id FROM assignment_attempt_files WHERE attempt_id = attempt.id ORDER BY position) AS file_ids,
               attempt.submitted_at, submission.due_at, submission.late,
               CASE WHEN review.id IS NOT NULL THEN jsonb_strip_nulls(jsonb_build_object(
                 'outcome', review.outcome, 'comment', review.comment, 'created_at', to_char(review.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))) END AS review
          FROM assignment_submissions submission
          JOIN assignment_attempts attempt ON attempt.submission_id = submission.id
          JOIN assignments assignment ON assignment.id = submission.assignment_id
          JOIN lessons lesson ON lesson.id = assignment.lesson_id
          LEFT JOIN assignment_reviews review ON review.attempt_id = attempt.id
         WHERE submission.student_id = ${studentId} ORDER BY attempt.submitted_at, attempt.id`,
    },
    assignment_extensions: {
      records: sql`
        SELECT assignment_id, due_at, closes_at, created_at
          FROM assignment_extensions WHERE student_id = ${studentId} ORDER BY created_at, assignment_id`,
    },
  },
});
