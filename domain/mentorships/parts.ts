/** The answers of the context `mentorships` to the questions that concern every context (domain/questions.ts). */
import type { ContextQuestions } from '../questions.ts';
import { purgeStudentFromMentorships } from './student-removal.ts';

export const mentorshipsParts = {
  closeClub: null, // a session mails only through the context `mail`, and ends with its row
  eraseStudent: (tx, { studentId }, now) => purgeStudentFromMentorships(tx, studentId, now),
  exportStudent: null,
  changeEmail: null, // each mail goes to the current address of the student at the time of sending
  clubRows: [],
  retention: [],
} satisfies ContextQuestions;
