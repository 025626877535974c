/** The answers of the context `agents` to the questions that concern every context (domain/questions.ts). */
import type { ContextQuestions } from '../questions.ts';
import { purgeStudentFromAgents } from './conversations/erasure.ts';
import { exportAgents } from './student-export.ts';

export const agentsParts = {
  closeClub: null,
  eraseStudent: (tx, { studentId }, now) => purgeStudentFromAgents(tx, studentId, now),
  exportStudent: exportAgents,
  changeEmail: null,
  clubRows: [],
  retention: [],
} satisfies ContextQuestions;
