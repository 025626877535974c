/** What a conversation brings into the next prompt: the same for who reserves what it may cost and for who builds it. */
import type { DataSource } from 'typeorm';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { promptBounds, turnsThatFit, type Turn } from './prompt.policy.ts';

/**
 * Refused and failed turns are left out, and so is what has no words any more.
 * @returns the newest turns that a prompt can hold, oldest first; a turn under way is none
 */
export async function historyOf(on: Transaction | DataSource, conversationId: Id): Promise<Turn[]> {
  const newestFirst = await on.query<Turn[]>(
    `SELECT question.content AS question, answer.content AS answer
       FROM agent_questions question JOIN agent_answers answer ON answer.question_id = question.id
      WHERE question.conversation_id = $1 AND answer.status IN ('complete', 'truncated') AND answer.content <> ''
      ORDER BY question.asked_at DESC, question.id DESC LIMIT ${promptBounds.historyTurns}`,
    [conversationId],
  );
  return turnsThatFit(newestFirst);
}
