/** The answers of the context `erasures` to the questions that concern every context (domain/questions.ts). */
import { Fact } from '../../entities/facts/fact.ts';
import { ListTally } from '../../entities/facts/list-tally.ts';
import { ListTallyChange } from '../../entities/facts/list-tally-change.ts';
import { Wake } from '../../entities/facts/wake.ts';
import type { ContextQuestions } from '../questions.ts';
import { releaseSlugs, removeOldErasures } from './retention.ts';

export const erasuresParts = {
  closeClub: null, // the run of the erasure itself
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
  retention: [{ run: ({ db }, now) => releaseSlugs(db, now) }, { run: ({ db }, now) => removeOldErasures(db, now) }],
} as const satisfies ContextQuestions;
