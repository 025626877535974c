/** The answers of the context `erasures` to the questions that concern every context (domain/questions.ts). */
import type { ContextQuestions } from '../questions.ts';
import { storeFinalReceivers } from './receivers.ts';

export const erasuresParts = {
  closeClub: null,
  eraseStudent: null, // an erasure has ids and counts only
  exportStudent: null,
  changeEmail: null,
  clubRows: [], // the row of an erasure outlives its club
  retention: [
    {
      async run({ db }, now) {
        const { stored, more } = await storeFinalReceivers(db, now);
        return { rows: { erasureReceiversStored: stored }, more };
      },
    },
  ],
} as const satisfies ContextQuestions;
