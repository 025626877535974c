/** What a conversation brings into the next prompt: the same for who reserves what it may cost and for who builds it. */
import { usableAnswerStatuses } from '../../../entities/agents/values.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { promptBounds, turnsThatFit, type Turn } from './prompt.policy.ts';

/**
 * Refused and failed turns are left out, and so is what has no words any more.
 * @returns the newest turns that a prompt can hold, oldest first; a turn under way is none
 */
export async function historyOf(db: Queries, conversationId: Id): Promise<Turn[]> {
  const newestFirst = await db.rows<Turn>(
    sql`SELECT question.content AS question, answer.content AS answer
          FROM agent_questions question JOIN agent_answers answer ON answer.question_id = question.id
         WHERE question.conversation_id = ${conversationId} AND answer.status = ANY (${usableAnswerStatuses}) AND answer.content <> ''
         ORDER BY question.asked_at DESC, question.id DESC LIMIT ${promptBounds.historyTurns}`,
  );
  return turnsThatFit(newestFirst);
}
