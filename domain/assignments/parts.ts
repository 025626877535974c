/** The answers of the context `assignments` to the questions that concern every context (domain/questions.ts). */
import type { ContextQuestions } from '../questions.ts';
import { purgeStudentFromAssignments } from './student-removal.ts';
import { exportAssignments } from './student-export.ts';

export const assignmentsParts = {
  closeClub: null,
  eraseStudent: (tx, { studentId }) => purgeStudentFromAssignments(tx, studentId),
  exportStudent: exportAssignments,
  changeEmail: null, // each mail goes to the current address of the student at the time of sending
  clubRows: [],
  retention: [], // the context `media` removes files that students uploaded but did not send
} satisfies ContextQuestions;
