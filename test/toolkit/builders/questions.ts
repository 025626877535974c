/** Questions as ASKING leaves them: accepted, reserved, and their answers waiting for their runs. */
import { wake } from '../../../domain/facts/facts.ts';
import { inTransaction } from '../../../domain/core/database.ts';
import { newId, type Id } from '../../../domain/core/ids.ts';
import { answerWake } from '../../../domain/agents/answer-wakes.ts';
import { reserveBudget } from '../../../domain/agents/budget.ts';
import { AgentAnswer } from '../../../entities/agents/agent-answer.ts';
import { AgentAnswerDelta } from '../../../entities/agents/agent-answer-delta.ts';
import { AgentCall } from '../../../entities/agents/agent-call.ts';
import { AgentCharge } from '../../../entities/agents/agent-charge.ts';
import { AgentCitation } from '../../../entities/agents/agent-citation.ts';
import { ClubAiMonth } from '../../../entities/agents/club-ai-month.ts';
import { testDatabase, testPlatform } from '../stack/database.ts';
import { buildClub, buildStudent } from './factories.ts';

export interface TestConversation {
  clubId: Id;
  agentId: Id;
  studentId: Id;
  conversationId: Id;
}

export interface TestQuestion extends TestConversation {
  questionId: Id;
  answerId: Id;
}

/** What is reserved for each. */
export const reservedMicros = 50_000n;

/** A conversation of a student with an agent in a club of their own. */
export async function buildConversation({ name = 'Ada', instructions = '' } = {}): Promise<TestConversation> {
  const source = await testDatabase();
  const { id: clubId } = await buildClub();
  const { id: studentId } = await buildStudent(clubId);
  const [agentId, conversationId, now] = [newId(), newId(), new Date()];
  await source.query(
    `INSERT INTO agents (id, club_id, public_id, name, instructions, status, daily_limit, answer_max_tokens, created_at, updated_at)
     VALUES ($1, $2, $3, $4, $5, 'published', 20, 1024, $6, $6)`,
    [agentId, clubId, agentId.replaceAll('-', ''), name, instructions, now],
  );
  await source.query(
    `INSERT INTO agent_conversations (id, club_id, agent_id, student_id, title, created_at, last_message_at)
     VALUES ($1, $2, $3, $4, 'A title', $5, $5)`,
    [conversationId, clubId, agentId, studentId, now],
  );
  return { clubId, agentId, studentId, conversationId };
}

/** A question that was accepted just now, in a conversation of its own unless one is given. */
export async function buildQuestion(
  {
    content = 'How long is the pause?',
    model = 'claude-sonnet-5-5',
    maxTokens = 1_024,
    acceptedAt = new Date(),
    woken = false,
  } = {},
  conversation?: TestConversation,
): Promise<TestQuestion> {
  const { database } = await testPlatform();
  const in_ = conversation ?? (await buildConversation());
  const { clubId, agentId, studentId, conversationId } = in_;
  const [questionId, answerId] = [newId(), newId()];
  await inTransaction(database, async (tx) => {
    await tx.query(
      `INSERT INTO agent_questions (id, club_id, agent_id, student_id, conversation_id, content, asked_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7)`,
      [questionId, clubId, agentId, studentId, conversationId, content, acceptedAt],
    );
    await tx.query(
      `INSERT INTO agent_answers (id, question_id, club_id, agent_id, student_id, conversation_id, model, max_tokens, looks_at, created_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9)`,
      [answerId, questionId, clubId, agentId, studentId, conversationId, model, maxTokens, acceptedAt],
    );
    await reserveBudget(tx, { clubId, agentId, answerId, micros: reservedMicros }, acceptedAt);
    if (woken) await wake(tx, [answerWake({ questionId, clubId, agentId })], acceptedAt);
  });
  if (woken) database.bell.ring();
  return { ...in_, questionId, answerId };
}

/** An earlier turn that ended like this. */
export async function buildTurn(
  conversation: TestConversation,
  question: string,
  answer: string,
  status: 'complete' | 'truncated' | 'refused' | 'failed' = 'complete',
  askedAt = new Date(),
): Promise<void> {
  const source = await testDatabase();
  const { answerId } = await buildQuestion({ content: question, acceptedAt: askedAt }, conversation);
  await source.query(
    `UPDATE agent_answers SET status = $2, content = $3, error_code = $4, completed_at = created_at WHERE id = $1`,
    [answerId, status, answer, status === 'failed' ? 'interrupted' : null],
  );
}

/** A source in the index, for citations. */
export async function buildSource(clubId: Id, title = 'Handbook'): Promise<Id> {
  const source = await testDatabase();
  const [id, mediaId, now] = [newId(), newId(), new Date()];
  await source.query(
    `INSERT INTO media (id, club_id, purpose, kind, title, provider, status, created_at, updated_at)
     VALUES ($1, $2, 'library', 'document', $3, 'objstore', 'ready', $4, $4)`,
    [mediaId, clubId, title, now],
  );
  await source.query(
    `INSERT INTO agent_sources (id, club_id, kind, media_id, title, status, created_at, updated_at)
     VALUES ($1, $2, 'media', $3, $4, 'ready', $5, $5)`,
    [id, clubId, mediaId, title, now],
  );
  return id;
}

export async function answerRow(answerId: Id): Promise<AgentAnswer> {
  return (await testDatabase()).manager.findOneByOrFail(AgentAnswer, { id: answerId });
}

/** By number. */
export async function callRows(answerId: Id): Promise<AgentCall[]> {
  return (await testDatabase()).manager.find(AgentCall, { where: { answerId }, order: { callNo: 'ASC' } });
}

export async function chargeRow(answerId: Id): Promise<AgentCharge> {
  return (await testDatabase()).manager.findOneByOrFail(AgentCharge, { answerId });
}

export async function citationRows(answerId: Id): Promise<AgentCitation[]> {
  return (await testDatabase()).manager.find(AgentCitation, { where: { answerId }, order: { position: 'ASC' } });
}

/** Of the club, whose only month it is: in millionths of a US dollar. */
export async function monthOf(clubId: Id): Promise<{ spent: number; reserved: number }> {
  const month = await (await testDatabase()).manager.findOneByOrFail(ClubAiMonth, { clubId });
  return { spent: Number(month.spentMicros), reserved: Number(month.reservedMicros) };
}

/** The words of an answer's log. @throws Error where an entry does not begin where the one before it ends */
export async function logOf(answerId: Id): Promise<string> {
  const deltas = await (
    await testDatabase()
  ).manager.find(AgentAnswerDelta, {
    where: { answerId },
    order: { startsAt: 'ASC' },
  });
  let text = '';
  for (const delta of deltas) {
    const length = Array.from(text).length;
    if (delta.startsAt !== length) throw new Error(`An entry begins at ${delta.startsAt}, after ${length} characters.`);
    text += delta.text;
  }
  return text;
}
