/** The answers of the context `idempotency` to the questions that concern every context (domain/questions.ts). */
import type { ContextQuestions } from '../questions.ts';
import { eraseAnswers, removeExpiredAnswers } from './repetitions.ts';

export const idempotencyParts = {
  closeClub: null,
  eraseStudent: (tx, student) => eraseAnswers(tx, student),
  exportStudent: null, // a stored answer repeats other records for a day
  changeEmail: null, // a stored answer repeats an old response, so it keeps the address of that time
  clubRows: [],
  retention: [{ run: ({ db }, now) => removeExpiredAnswers(db, now) }],
} satisfies ContextQuestions;
