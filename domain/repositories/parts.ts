/** The answers of the context `repositories` to the questions that concern every context (domain/questions.ts). */
import type { ContextQuestions } from '../questions.ts';

export const repositoriesParts = {
  closeClub: null, // nothing is under way
  eraseStudent: null,
  exportStudent: null,
  changeEmail: null,
  clubRows: [],
  retention: [],
} satisfies ContextQuestions;
