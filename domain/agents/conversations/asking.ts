/**
 * Accepts a question (OP-1). One transaction makes every check that can fail before generation, in the order of AGT-6 to AGT-12. A refused
 * question writes nothing. Database constraints ensure that an id is used only once, and that a conversation has only one unfinished answer
 * at a time.
 */
import { Agent } from '../../../entities/agents/agent.ts';
import { AgentQuestionImage } from '../../../entities/agents/agent-question-image.ts';
import { AgentConversation } from '../../../entities/agents/agent-conversation.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import { isEntitled } from '../../access/enrollments/entitlement.ts';
import { requireFeature } from '../../billing/allowances.ts';
import type { Database, Transaction, Queries } from '../../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../../platform/infra/postgres/sql.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import { wake } from '../../../platform/engine/wakes.ts';
import { lockStudent } from '../../identity/accounts/accounts.ts';
import type { Reader } from '../../identity/student-ref.ts';
import { reserveBudget } from '../budget/budget.ts';
import { whileBudgetIsReserved, type Patience } from '../budget/waiting.ts';
import { historyOf } from '../prompt/history.ts';
import { countQuestions, reserveFor, presentLimits, requireWithinLimit, type AgentTerms } from './limits.ts';
import { conversationColumns, presentConversation, presentTurns, type ConversationRow } from './messages.ts';
import { requireOwnImages } from '../../media/purposes/agent-images.ts';
import { titleOf } from './title.policy.ts';
import { RefusalToPerson } from '../../language/refusal.ts';

export interface AskingDeps {
  db: Database;
  storage: ObjectStore;
  model: AskedModel;
}

export interface AskedModel {
  /** If false, no question is accepted. */
  configured: boolean;
  /** The model for agents that have no model of their own. */
  defaultModel: string;
}

export type Accepted = RecordOf<'AgentStreamAccepted'>['data'];

/**
 * Accepts a question to an agent, and wakes the run of its answer. If the club's budget is full only because of reserves, the question
 * first waits until an answer ends (ANS-5).
 * @returns the data of the `accepted` event
 * @throws DomainError not_found (no such agent or conversation), feature_not_in_plan, not_entitled, message_exists,
 * generation_in_progress, invalid_image, daily_limit_reached, club_budget_exhausted, rate_limited (reserves fill the budget),
 * not_configured
 */
export async function askAgent(
  deps: AskingDeps,
  student: Reader,
  publicId: string,
  input: RecordOf<'AgentMessageCreation'>,
  now: Date,
  patience?: Patience,
): Promise<Accepted> {
  return whileBudgetIsReserved(student.clubId, () => accept(deps, student, publicId, input, now), patience);
}

/** @throws BudgetReserved */
async function accept(
  { db, storage, model }: AskingDeps,
  student: Reader,
  publicId: string,
  input: RecordOf<'AgentMessageCreation'>,
  now: Date,
): Promise<Accepted> {
  const questionId = input.id.toLowerCase();
  return db.transaction(async (tx) => {
    await lockStudent(tx, student.clubId, student.id);
    const agent = await findOpenAgent(tx, student.clubId, publicId, model);
    await requireFeature(tx, student.clubId, 'agents', 'person');
    await requireEntitlement(tx, student, agent.id, now);
    const turn: NewTurn = {
      questionId,
      answerId: newId(),
      clubId: student.clubId,
      agentId: agent.id,
      studentId: student.id,
      content: input.content,
    };
    const conversation = input.conversation_id
      ? await continueConversation(tx, turn, input.conversation_id, now)
      : await openConversation(tx, turn, now);
    await insertQuestion(tx, turn, conversation.id, now);
    await insertAnswer(tx, turn, conversation.id, agent, now);
    const images = await requireOwnImages(tx, {
      clubId: student.clubId,
      studentId: student.id,
      imageIds: input.image_ids ?? [],
    });
    for (const [position, { id }] of images.entries())
      await tx.manager.insert(AgentQuestionImage, { questionId, position, mediaId: id });
    const usedQuestions = await countQuestions(tx, turn, now);
    await requireWithinLimit(tx, agent, student.id, usedQuestions, now);
    const history = input.conversation_id ? await historyOf(tx, conversation.id) : [];
    const micros = reserveFor(agent, { history, question: input.content, images: images.length }, now);
    await wake(tx, 'agentAnswer', [turn], now);
    const [question, answer] = await presentTurns(tx, storage, [{ ...turn, id: questionId, askedAt: now }]);
    if (!question || !answer) throw new Error('A question vanished inside the transaction that wrote it');
    // Every question of the club needs the lock of the month's row. So this transaction locks that row last, and holds the lock only for a
    // short time.
    const budget = await reserveBudget(tx, { ...turn, micros }, now);
    if (!model.configured)
      throw new RefusalToPerson('not_configured', 'refusal.not_offered', {
        technical: 'No model is configured in this environment.',
      });
    return {
      conversation: presentConversation(conversation),
      question,
      answer,
      limits: presentLimits(agent, usedQuestions, budget),
    };
  });
}

interface NewTurn {
  questionId: Id;
  answerId: Id;
  clubId: Id;
  agentId: Id;
  studentId: Id;
  content: string;
}

/** The current state of an agent that students can ask. */
export interface OpenAgent extends AgentTerms {
  publicId: string;
  name: string;
  description: string;
}

const openAgentColumns = columns(Agent, [
  'id',
  'publicId',
  'name',
  'description',
  'instructions',
  'dailyLimit',
  'answerMaxTokens',
]);

/** @throws DomainError not_found: the same answer for an unknown agent, another club's agent and an unpublished agent */
export async function findOpenAgent(
  db: Queries,
  clubId: Id,
  publicId: string,
  { defaultModel }: AskedModel,
): Promise<OpenAgent> {
  const agent = await db.one<OpenAgent>(
    sql`SELECT ${openAgentColumns}, coalesce(model, ${defaultModel}) AS model FROM agents WHERE club_id = ${clubId} AND public_id = ${publicId} AND status = 'published'`,
  );
  if (!agent) throw notFound('agent');
  return agent;
}

/** @throws DomainError not_entitled */
export async function requireEntitlement(db: Queries, student: Reader, agentId: Id, now: Date): Promise<void> {
  if (await isEntitled(db, { clubId: student.clubId, studentId: student.id, agentId }, now)) return;
  throw new RefusalToPerson('not_entitled', 'refusal.no_access_to_agent');
}

async function openConversation(tx: Transaction, turn: NewTurn, now: Date): Promise<ConversationRow> {
  const conversation = { id: newId(), title: titleOf(turn.content), lastMessageAt: now, createdAt: now };
  await tx.manager.insert(AgentConversation, {
    id: conversation.id,
    clubId: turn.clubId,
    agentId: turn.agentId,
    studentId: turn.studentId,
    title: conversation.title,
    createdAt: now,
    lastMessageAt: now,
  });
  return conversation;
}

/** @throws DomainError not_found, also for a deleted conversation, and for another agent's or student's conversation */
async function continueConversation(
  tx: Transaction,
  turn: NewTurn,
  conversationId: Id,
  now: Date,
): Promise<ConversationRow> {
  const conversation =
    await tx.one<ConversationRow>(sql`UPDATE agent_conversations conversation SET last_message_at = ${now}
      WHERE id = ${conversationId} AND student_id = ${turn.studentId} AND agent_id = ${turn.agentId} AND deleted_at IS NULL RETURNING ${conversationColumns}`);
  if (!conversation) throw notFound('conversation');
  return conversation;
}

/** A simultaneous request with the same id waits at this insert, and then gets the error. @throws DomainError message_exists */
async function insertQuestion(tx: Transaction, turn: NewTurn, conversationId: Id, now: Date): Promise<void> {
  const fresh =
    await tx.rows(sql`INSERT INTO agent_questions (id, club_id, agent_id, student_id, conversation_id, content, asked_at)
     VALUES (${turn.questionId}, ${turn.clubId}, ${turn.agentId}, ${turn.studentId}, ${conversationId}, ${turn.content}, ${now}) ON CONFLICT ON CONSTRAINT agent_questions_id DO NOTHING RETURNING 1`);
  if (fresh.length > 0) return;
  const location = await findPathOf(tx, turn);
  throw new DomainError('message_exists', 'A question with this id was asked already.', {
    ...(location && { location }),
  });
}

/**
 * @returns the URL path of the conversation that contains the student's question; undefined if another student asked the question, or if
 * the conversation is deleted
 */
async function findPathOf(db: Queries, { questionId, clubId, studentId }: NewTurn): Promise<string | undefined> {
  const conversation = await db.one<{ id: Id }>(sql`SELECT conversation.id FROM agent_questions question
       JOIN agent_conversations conversation ON conversation.id = question.conversation_id AND conversation.deleted_at IS NULL
      WHERE question.id = ${questionId} AND question.student_id = ${studentId}`);
  return conversation && `/v1/clubs/${clubId}/classroom/conversations/${conversation.id}`;
}

/**
 * If the conversation's earlier answer is still running, this insert waits and then fails with the error.
 * @throws DomainError generation_in_progress
 */
async function insertAnswer(
  tx: Transaction,
  turn: NewTurn,
  conversationId: Id,
  { model, answerMaxTokens }: AgentTerms,
  now: Date,
): Promise<void> {
  const fresh =
    await tx.rows(sql`INSERT INTO agent_answers (id, question_id, club_id, agent_id, student_id, conversation_id, model, max_tokens, looks_at, created_at)
     VALUES (${turn.answerId}, ${turn.questionId}, ${turn.clubId}, ${turn.agentId}, ${turn.studentId}, ${conversationId}, ${model}, ${answerMaxTokens}, ${now}, ${now})
     ON CONFLICT (conversation_id) WHERE status = 'generating' DO NOTHING RETURNING 1`);
  if (fresh.length === 0) throw new RefusalToPerson('generation_in_progress', 'refusal.answer_in_progress');
}
