/** The answers of the context `clubs` to the questions that concern every context (domain/questions.ts). */
import { rollingUp, type ContextQuestions } from '../questions.ts';
import { rollUpListTallies } from '../../platform/infra/postgres/lists/counts.ts';

export const clubsParts = {
  closeClub: null, // nothing is under way
  eraseStudent: null,
  exportStudent: null,
  changeEmail: null,
  clubRows: [],
  retention: [rollingUp('listChanges', rollUpListTallies)],
} satisfies ContextQuestions;
