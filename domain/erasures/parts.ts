/** The answers of the context `erasures` to the questions that concern every context (domain/questions.ts). */
import type { ContextQuestions } from '../questions.ts';
import { releaseSlugs, removeOldErasures } from './retention.ts';

export const erasuresParts = {
  closeClub: null, // the run of the erasure itself
  eraseStudent: null, // an erasure has ids and counts only
  exportStudent: null,
  changeEmail: null,
  clubRows: [], // the row of an erasure outlives its club
  retention: [{ run: ({ db }, now) => releaseSlugs(db, now) }, { run: ({ db }, now) => removeOldErasures(db, now) }],
} satisfies ContextQuestions;
