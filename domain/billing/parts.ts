/** The answers of the context `billing` to the questions that concern every context (domain/questions.ts). */
import type { ContextQuestions } from '../questions.ts';
import { closeBilling } from './closing.ts';
import { turnMonths } from './overages.ts';

export const billingParts = {
  closeClub: closeBilling,
  eraseStudent: null,
  exportStudent: null,
  changeEmail: null,
  clubRows: [],
  retention: [
    {
      async run({ db }, now) {
        const { turned, more } = await turnMonths(db, now);
        return { rows: { overageMonthsTurned: turned }, more };
      },
    },
  ],
} satisfies ContextQuestions;
