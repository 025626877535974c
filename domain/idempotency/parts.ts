/** The answers of the context `idempotency` to the questions that concern every context (domain/questions.ts). */
import { IdempotencyErasure } from '../../entities/idempotency/idempotency-erasure.ts';
import { IdempotencyKey } from '../../entities/idempotency/idempotency-key.ts';
import type { ContextQuestions } from '../questions.ts';
import { eraseAnswers, eraseAnswersOfAdministrator, removeExpiredAnswers } from './repetitions.ts';

export const idempotencyParts = {
  closeClub: null, // nothing is under way
  eraseStudent: (tx, student) => eraseAnswers(tx, student),
  exportStudent: null, // a stored answer repeats other records for a day
  changeEmail: null, // a stored answer repeats an old response, so it keeps the address of that time
  clubRows: [
    { of: IdempotencyErasure, by: 'club' },
    { of: IdempotencyKey, by: 'club' },
  ],
  retention: [{ run: ({ db }, now) => removeExpiredAnswers(db, now) }],
  eraseAdministrator: (tx, administrator) => eraseAnswersOfAdministrator(tx, administrator),
} satisfies ContextQuestions;
