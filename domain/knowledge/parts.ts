/** The answers of the context `knowledge` to the questions that concern every context (domain/questions.ts). */
import { rollingUp, type ContextQuestions } from '../questions.ts';
import { closeKnowledge } from './closing.ts';
import { readOldSourcesAgain } from './indexing/reading-again.ts';
import { rollUpWords } from './words.ts';

export const knowledgeParts = {
  closeClub: closeKnowledge,
  eraseStudent: null,
  exportStudent: null,
  changeEmail: null,
  clubRows: [],
  retention: [
    rollingUp('wordChanges', rollUpWords),
    {
      async run({ db, readsScans = false }, now) {
        return { rows: { sourcesReadAgain: await readOldSourcesAgain(db, now, { readsScans }) }, more: false };
      },
    },
  ],
} satisfies ContextQuestions;
