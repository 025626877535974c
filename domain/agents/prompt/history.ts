/**
 * Reads the earlier turns of a conversation for the next prompt. A turn is a question with its answer. Both the reserve of the cost and the
 * prompt use these turns.
 */
import { usableAnswerStatuses } from '../../../entities/agents/values.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { promptBounds, turnsThatFit, type Turn } from './prompt.policy.ts';

/**
 * Leaves out refused and failed turns, and turns whose words were deleted.
 * @returns the newest finished turns that fit into a prompt, oldest first
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
