/** The answers of the context `erasures` to the questions that concern every context (domain/questions.ts). */
import { Fact } from '../../entities/facts/fact.ts';
import { ListTally } from '../../entities/facts/list-tally.ts';
import { ListTallyChange } from '../../entities/facts/list-tally-change.ts';
import { Wake } from '../../entities/facts/wake.ts';
import type { ContextQuestions } from '../questions.ts';

export const erasuresParts = {
  closeClub: null,
  eraseStudent: null, // an erasure has ids and counts only
  exportStudent: null,
  changeEmail: null,
  // The tables of the platform, which no other context owns. The row of an erasure outlives its club.
  clubRows: [
    { of: Fact, by: 'club' },
    { of: ListTally, by: 'club' },
    { of: ListTallyChange, by: 'club' },
    { of: Wake, by: 'club' },
  ],
  retention: [],
} as const satisfies ContextQuestions;
