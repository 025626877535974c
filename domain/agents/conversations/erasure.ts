/**
 * Deletes the text of conversations. Their rows stay, because the questions still count and their ids must not be used again. A running
 * answer becomes `failed`, and the workflow run of the answer is woken, so that it charges the cost and ends.
 */
import { AgentAnswer } from '../../../entities/agents/agent-answer.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns, raw, sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { wake } from '../../../platform/engine/wakes.ts';
import { removeImagesOf } from './images.ts';
import type { AnswerError } from '../agents.policy.ts';

/**
 * Deletes the text of the given conversations. The caller has locked the student's row.
 * @param errorCode the error code for answers that are still running
 */
export async function eraseConversations(
  tx: Transaction,
  conversationIds: readonly Id[],
  errorCode: AnswerError,
  now: Date,
): Promise<void> {
  if (conversationIds.length === 0) return;
  const ofThem = sql`conversation_id = ANY (${conversationIds})`;
  await tx.run(
    sql`UPDATE agent_conversations SET title = '', deleted_at = coalesce(deleted_at, ${now}) WHERE id = ANY (${conversationIds})`,
  );
  // Ends the running answers before it deletes words. A process that still wants to write words locks the answer's row first, and sees that
  // it has ended.
  const stopped = await tx.rows<Pick<AgentAnswer, 'questionId' | 'clubId' | 'agentId'>>(
    sql`UPDATE agent_answers SET status = 'failed', error_code = ${errorCode}, completed_at = ${now}
         WHERE ${ofThem} AND status = 'generating'
        RETURNING ${columns(AgentAnswer, ['questionId', 'clubId', 'agentId'])}`,
  );
  await tx.run(sql`UPDATE agent_answers SET content = '' WHERE ${ofThem} AND content <> ''`);
  await tx.run(sql`UPDATE agent_questions SET content = '' WHERE ${ofThem} AND content <> ''`);
  // Removes the id of each request, because the model's provider could find the words of the conversation by this id.
  await tx.run(
    sql`UPDATE agent_calls SET request_id = NULL WHERE answer_id IN (SELECT id FROM agent_answers WHERE ${ofThem})`,
  );
  for (const table of ['agent_answer_deltas', 'agent_citations'])
    await tx.run(sql`DELETE FROM ${raw(table)} WHERE answer_id IN (SELECT id FROM agent_answers WHERE ${ofThem})`);
  await removeImagesOf(tx, conversationIds, now);
  await wake(tx, 'agentAnswer', stopped, now);
}

/** Deletes the words of a removed student. The caller has locked the student's row. */
export async function purgeStudentFromAgents(tx: Transaction, studentId: Id, now: Date): Promise<void> {
  const conversations = await tx.rows<{ id: Id }>(
    sql`SELECT id FROM agent_conversations WHERE student_id = ${studentId} ORDER BY id`,
  );
  await eraseConversations(
    tx,
    conversations.map(({ id }) => id),
    'student_removed',
    now,
  );
}
