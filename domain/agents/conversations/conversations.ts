/**
 * Lists, reads and changes a student's conversations with agents. After access has ended, the student can still read them, but cannot ask
 * new questions.
 */
import type { RecordOf } from '../../../contract/contract.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { all, sql } from '../../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../../deps.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import { newestFirst } from '../../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import { tidyName } from '../../../platform/core/text/text.policy.ts';
import { lockStudent } from '../../identity/accounts/accounts.ts';
import type { Reader } from '../../identity/student-ref.ts';
import { findOpenAgent, requireEntitlement, type AskedModel } from './asking.ts';
import { budgetOf } from '../budget/budget.ts';
import { eraseConversations } from './erasure.ts';
import { countQuestions, presentLimits } from './limits.ts';
import {
  conversationColumns,
  messagesOf,
  presentConversation,
  type Conversation,
  type ConversationRow,
} from './messages.ts';

const ownedBy = (studentId: Id) => sql`conversation.student_id = ${studentId} AND conversation.deleted_at IS NULL`;

/** @returns the agent and the student's remaining questions @throws DomainError not_found (also if unpublished), not_entitled */
export async function openAgent(
  db: Queries,
  student: Reader,
  publicId: string,
  model: AskedModel,
  now: Date,
): Promise<RecordOf<'ClassroomAgentDetails'>> {
  const agent = await findOpenAgent(db, student.clubId, publicId, model);
  await requireEntitlement(db, student, agent.id, now);
  const usedQuestions = await countQuestions(db, { agentId: agent.id, studentId: student.id }, now);
  const budget = await budgetOf(db, student.clubId, now);
  return {
    id: agent.id,
    public_id: agent.publicId,
    name: agent.name,
    description: agent.description,
    limits: presentLimits(agent, usedQuestions, budget),
  };
}

/**
 * @returns a page of the student's conversations with the agent, newest message first
 * @throws DomainError not_found for an agent that is not published, unless the student has a conversation with the agent
 */
export async function listConversations(
  db: Queries,
  student: Reader,
  publicId: string,
  page: PageRequest,
): Promise<Page<Conversation>> {
  const isOwned = ownedBy(student.id);
  const agent = await db.one<{ id: Id; published: boolean; total: number }>(
    sql`SELECT agent.id, agent.status = 'published' AS published,
               (SELECT count(*)::int FROM agent_conversations conversation WHERE ${isOwned} AND agent_id = agent.id) AS total
          FROM agents agent WHERE agent.club_id = ${student.clubId} AND agent.public_id = ${publicId}`,
  );
  if (!agent || (!agent.published && agent.total === 0)) throw notFound('agent');
  const { rows, total, next } = await listPage(db, page, {
    columns: conversationColumns,
    from: sql`FROM agent_conversations conversation WHERE ${isOwned} AND agent_id = ${agent.id}`,
    orderBy: newestFirst('conversation', 'last_message_at'),
    total: agent.total,
  });
  return { rows: rows.map(presentConversation), total, next };
}

/**
 * @param publicId the agent of the conversation; undefined for any agent
 * @throws DomainError not_found: the same answer for an unknown or deleted conversation, and for a conversation of another student
 */
async function findConversation(
  db: Queries,
  student: Reader,
  conversationId: Id,
  publicId?: string,
): Promise<ConversationRow> {
  const conversation = await db.one<ConversationRow>(
    sql`SELECT ${conversationColumns} FROM agent_conversations conversation
         WHERE ${all([
           sql`${ownedBy(student.id)} AND id = ${conversationId} AND club_id = ${student.clubId}`,
           publicId === undefined
             ? undefined
             : sql`agent_id = (SELECT id FROM agents WHERE club_id = ${student.clubId} AND public_id = ${publicId})`,
         ])}`,
  );
  if (!conversation) throw notFound('conversation');
  return conversation;
}

/**
 * @returns the conversation with a page of its messages, and the total number of messages. The first page holds the newest
 *   messages; each page starts with its oldest message
 * @param publicId the agent of the conversation; absent for any agent
 * @throws DomainError not_found
 */
export async function readConversation(
  db: Queries,
  storage: ObjectStore,
  student: Reader,
  { conversationId, publicId }: { conversationId: Id; publicId?: string },
  page: PageRequest,
): Promise<{ conversation: RecordOf<'AgentConversationMessages'>; total: number }> {
  const conversation = await findConversation(db, student, conversationId, publicId);
  const { messages, total } = await messagesOf(db, storage, conversation.id, page);
  return { conversation: { ...presentConversation(conversation), messages }, total };
}

/** @throws DomainError not_found */
export async function renameConversation(
  { db }: DatabaseDeps,
  student: Reader,
  conversationId: Id,
  title: string,
): Promise<Conversation> {
  return db.transaction(async (tx) => {
    const conversation = await tx.one<ConversationRow>(
      sql`UPDATE agent_conversations conversation SET title = ${tidyName(title)}
           WHERE ${ownedBy(student.id)} AND id = ${conversationId} AND club_id = ${student.clubId}
          RETURNING ${conversationColumns}`,
    );
    if (!conversation) throw notFound('conversation');
    return presentConversation(conversation);
  });
}

/** Deletes the words of a conversation. Its questions still count, and their ids cannot be used again. @throws DomainError not_found */
export async function removeConversation(
  { db }: DatabaseDeps,
  student: Reader,
  conversationId: Id,
  now: Date,
): Promise<void> {
  await db.transaction(async (tx) => {
    await lockStudent(tx, student.clubId, student.id);
    const { id } = await findConversation(tx, student, conversationId);
    await eraseConversations(tx, [id], 'conversation_deleted', now);
  });
}

/**
 * Finds an answer that the caller wants to follow, starting at a position.
 * @param messageId the id of the answer or of its question
 * @param from the number of characters (code points) that the caller already has
 * @returns the answer's id
 * @throws DomainError not_found; invalid_request for a position beyond the written text
 */
export async function findAnswerToFollow(
  db: Queries,
  student: Reader,
  conversationId: Id,
  messageId: Id,
  from: number,
): Promise<Id> {
  await findConversation(db, student, conversationId);
  const answer = await db.one<{
    id: Id;
    written: boolean;
  }>(sql`SELECT id, ${from} <= CASE WHEN status <> 'generating' THEN char_length(content)
              ELSE coalesce((SELECT max(starts_at + char_length(text)) FROM agent_answer_deltas WHERE answer_id = agent_answers.id), 0)
            END AS written
       FROM agent_answers WHERE conversation_id = ${conversationId} AND ${messageId} IN (id, question_id)`);
  if (!answer) throw notFound('message');
  if (answer.written) return answer.id;
  throw new DomainError('invalid_request', '`from` is beyond the end of the answer so far.');
}
