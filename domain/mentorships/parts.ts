/** The answers of the context `mentorships` to the questions that concern every context (domain/questions.ts). */
import type { ContextQuestions } from '../questions.ts';
import { endMentoring } from './mentor-leaving.ts';
import { purgeStudentFromMentorships } from './student-removal.ts';

export const mentorshipsParts = {
  closeClub: null,
  eraseStudent: (tx, { studentId }, now) => purgeStudentFromMentorships(tx, studentId, now),
  exportStudent: null,
  changeEmail: null, // each mail goes to the current address of the student at the time of sending
  clubRows: [],
  retention: [],
  endMembership: (tx, member, now) => endMentoring(tx, member, now),
} satisfies ContextQuestions;
