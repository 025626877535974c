/** The answers of the context `agents` to the questions that concern every context (domain/questions.ts). */
import type { ContextQuestions } from '../questions.ts';
import { closeAgents } from './closing.ts';
import { purgeStudentFromAgents } from './conversations/erasure.ts';

export const agentsParts = {
  closeClub: closeAgents,
  eraseStudent: (tx, { studentId }, now) => purgeStudentFromAgents(tx, studentId, now),
  exportStudent: null,
  changeEmail: null,
  clubRows: [],
  retention: [],
} satisfies ContextQuestions;
