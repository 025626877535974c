/** The answers of the context `knowledge` to the questions that concern every context (domain/questions.ts). */
import { AgentPassage } from '../../entities/knowledge/agent-passage.ts';
import { AgentSource } from '../../entities/knowledge/agent-source.ts';
import { AgentWord } from '../../entities/knowledge/agent-word.ts';
import { rollingUp, type ContextQuestions } from '../questions.ts';
import { closeKnowledge } from './closing.ts';
import { readOldSourcesAgain } from './indexing/reading-again.ts';
import { rollUpWords } from './words.ts';

export const knowledgeParts = {
  closeClub: closeKnowledge,
  eraseStudent: null,
  exportStudent: null,
  changeEmail: null,
  clubRows: [
    { of: AgentPassage, by: { parent: AgentSource, column: 'sourceId' } },
    { of: AgentSource, by: 'club' },
    { of: AgentWord, by: 'club' },
  ],
  retention: [
    rollingUp('wordChanges', rollUpWords),
    {
      async run({ db, readsScans = false }, now) {
        return { rows: { sourcesReadAgain: await readOldSourcesAgain(db, now, { readsScans }) }, more: false };
      },
    },
  ],
} satisfies ContextQuestions;
