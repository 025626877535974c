/** Loads what a prompt is made of: the conversation so far, the passages that fit the question, its images. */
import type { DataSource } from 'typeorm';
import type { Transaction } from '../core/database.ts';
import type { Id } from '../core/ids.ts';
import type { AnswerRow } from './answer-rows.ts';
import { promptOf, type FoundPassage, type Prompt, type PromptImage } from './prompt-blocks.policy.ts';
import { promptBounds, turnsThatFit, type Turn } from './prompt.policy.ts';

export interface PromptPlatform {
  source: DataSource;
  /** Of the agent's material, the best first. */
  retrieve: (
    tx: Transaction,
    request: { clubId: Id; agentId: Id; question: string; limit: number },
  ) => Promise<readonly FoundPassage[]>;
  /** Of a question, in their order; those that are gone are left out. */
  readImages: (questionId: Id) => Promise<readonly PromptImage[]>;
}

export async function preparePrompt(platform: PromptPlatform, answer: AnswerRow): Promise<Prompt> {
  const { source } = platform;
  const { clubId, agentId, questionId, model, maxTokens, agentName, instructions, question } = answer;
  const [newestFirst, passages, images] = await Promise.all([
    earlierTurns(source, answer),
    source.transaction((tx) => platform.retrieve(tx, { clubId, agentId, question, limit: promptBounds.passages })),
    platform.readImages(questionId),
  ]);
  const history = turnsThatFit(newestFirst);
  return promptOf({ model, maxTokens, agentName, instructions, history, question, passages, images });
}

/** What was asked and answered before: refused and failed turns are left out, and so is what has no words any more. */
async function earlierTurns(source: DataSource, { conversationId, questionId }: AnswerRow): Promise<Turn[]> {
  return source.query<Turn[]>(
    `SELECT question.content AS question, answer.content AS answer
       FROM agent_answers answer JOIN agent_questions question ON question.id = answer.question_id
      WHERE answer.conversation_id = $1 AND question.id <> $2 AND answer.status IN ('complete', 'truncated')
        AND answer.content <> ''
      ORDER BY question.asked_at DESC, question.id DESC LIMIT $3`,
    [conversationId, questionId, promptBounds.historyTurns],
  );
}
