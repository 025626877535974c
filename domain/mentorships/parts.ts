/** The answers of the context `mentorships` to the questions that concern every context (domain/questions.ts). */
import type { ContextQuestions } from '../questions.ts';
import { purgeStudentFromMentorships } from './student-removal.ts';
import { exportMentorships } from './student-export.ts';

export const mentorshipsParts = {
  closeClub: null,
  eraseStudent: (tx, { studentId }, now) => purgeStudentFromMentorships(tx, studentId, now),
  exportStudent: exportMentorships,
  changeEmail: null, // each mail goes to the current address of the student at the time of sending
  clubRows: [],
  retention: [],
} satisfies ContextQuestions;
