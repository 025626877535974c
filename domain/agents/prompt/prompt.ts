/** Loads the parts of a prompt: the conversation so far, the matching passages and the question's images. */
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { ImageType } from '../../media/media.policy.ts';
import type { AnswerRow } from '../answers/answer-rows.ts';
import { historyOf } from './history.ts';
import { promptOf, type FoundPassage, type Prompt } from './prompt-blocks.policy.ts';
import { promptBounds } from './prompt.policy.ts';

export interface PromptDeps {
  db: Queries;
  /** Finds passages of the agent's material, with the best passage first. */
  retrieve: (
    db: Queries,
    request: { clubId: Id; agentId: Id; question: string; limit: number },
  ) => Promise<readonly FoundPassage[]>;
  /** Reads a question's images in their order, without deleted images. */
  readImages: (questionId: Id) => Promise<readonly { mediaType: ImageType; bytes: Buffer }[]>;
}

export async function preparePrompt(deps: PromptDeps, answer: AnswerRow): Promise<Prompt> {
  const { db } = deps;
  const { clubId, agentId, questionId, model, maxTokens, agentName, instructions, question } = answer;
  const [history, passages, images] = await Promise.all([
    historyOf(db, answer.conversationId),
    deps.retrieve(db, { clubId, agentId, question, limit: promptBounds.passages }),
    deps.readImages(questionId),
  ]);
  return promptOf({
    model,
    maxTokens,
    agentName,
    instructions,
    history,
    question,
    passages,
    images: images.map(({ mediaType, bytes }) => ({ mediaType, base64: bytes.toString('base64') })),
  });
}
