/** The answers of the context `assignments` to the questions that concern every context (domain/questions.ts). */
import { Assignment } from '../../entities/assignments/assignment.ts';
import { AssignmentAttempt } from '../../entities/assignments/assignment-attempt.ts';
import { AssignmentAttemptFile } from '../../entities/assignments/assignment-attempt-file.ts';
import { AssignmentExtension } from '../../entities/assignments/assignment-extension.ts';
import { AssignmentReview } from '../../entities/assignments/assignment-review.ts';
import { AssignmentSubmission } from '../../entities/assignments/assignment-submission.ts';
import { Media } from '../../entities/media/media.ts';
import { Student } from '../../entities/identity/student.ts';
import type { ContextQuestions } from '../questions.ts';
import { purgeStudentFromAssignments } from './student-removal.ts';
import { exportAssignments } from './student-export.ts';

export const assignmentsParts = {
  closeClub: null, // nothing is under way
  eraseStudent: (tx, { studentId }) => purgeStudentFromAssignments(tx, studentId),
  exportStudent: exportAssignments,
  changeEmail: null, // each mail goes to the current address of the student at the time of sending
  clubRows: [
    { of: Assignment, by: 'club' },
    { of: AssignmentAttempt, by: { parent: AssignmentSubmission, column: 'submissionId' } },
    { of: AssignmentAttemptFile, by: { parent: Media, column: 'mediaId' } },
    { of: AssignmentExtension, by: { parent: Student, column: 'studentId' } },
    { of: AssignmentReview, by: { parent: AssignmentAttempt, column: 'attemptId' } },
    { of: AssignmentSubmission, by: 'club' },
  ],
  retention: [], // the context `media` removes files that students uploaded but did not send
} satisfies ContextQuestions;
