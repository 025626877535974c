/** Builds questions that the service has just accepted. Their cost is reserved, and the runs of their answers have not begun. */
import { wake } from '../../../platform/engine/wakes.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { reserveBudget } from '../../../domain/agents/budget/budget.ts';
import { testDatabase, testDeps } from '../stack/database.ts';
import { buildAgent, type AgentOptions } from './agents.ts';
import { buildClub, buildStudent } from './clubs.ts';

/** A published agent of a club, and a student who asks it. */
export interface Asker {
  clubId: Id;
  agentId: Id;
  studentId: Id;
}

export interface TestConversation extends Asker {
  conversationId: Id;
}

export interface TestQuestion extends TestConversation {
  questionId: Id;
  answerId: Id;
}

export const reservedMicros = 50_000n;

export async function buildAsker(clubId: Id, options: AgentOptions = {}): Promise<Asker> {
  const [agent, student] = [await buildAgent(clubId, options), await buildStudent(clubId)];
  return { clubId, agentId: agent.id, studentId: student.id };
}

/** A student's conversation with an agent, by default in a new club. */
export async function buildConversation(
  { agent, createdAt = new Date() }: { agent?: AgentOptions; createdAt?: Date } = {},
  asker?: Asker,
): Promise<TestConversation> {
  const source = await testDatabase();
  const conversationId = newId();
  const whose = asker ?? (await buildAsker((await buildClub()).id, agent));
  await source.query(
    `INSERT INTO agent_conversations (id, club_id, agent_id, student_id, title, created_at, last_message_at)
     VALUES ($1, $2, $3, $4, 'A title', $5, $5)`,
    [conversationId, whose.clubId, whose.agentId, whose.studentId, createdAt],
  );
  return { ...whose, conversationId };
}

interface QuestionOptions {
  content?: string;
  model?: string;
  maxTokens?: number;
  /** In millionths of a US dollar. */
  micros?: bigint;
  acceptedAt?: Date;
  woken?: boolean;
  imageIds?: readonly Id[];
}

/** A question that was accepted just now. Its conversation is new by default. */
export async function buildQuestion(
  {
    content = 'How long is the pause?',
    model = 'claude-sonnet-5-5',
    maxTokens = 1_024,
    micros = reservedMicros,
    acceptedAt = new Date(),
    woken = false,
    imageIds = [],
  }: QuestionOptions = {},
  conversation?: TestConversation,
): Promise<TestQuestion> {
  const { db } = await testDeps();
  const whose = conversation ?? (await buildConversation());
  const { clubId, agentId, studentId, conversationId } = whose;
  const [questionId, answerId] = [newId(), newId()];
  await db.transaction(async (tx) => {
    await tx.manager.query(
      `INSERT INTO agent_questions (id, club_id, agent_id, student_id, conversation_id, content, asked_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7)`,
      [questionId, clubId, agentId, studentId, conversationId, content, acceptedAt],
    );
    await tx.manager.query(
      `INSERT INTO agent_answers (id, question_id, club_id, agent_id, student_id, conversation_id, model, max_tokens, looks_at, created_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9)`,
      [answerId, questionId, clubId, agentId, studentId, conversationId, model, maxTokens, acceptedAt],
    );
    await reserveBudget(tx, { clubId, agentId, answerId, micros }, acceptedAt);
    for (const [position, mediaId] of imageIds.entries())
      await tx.manager.query(
        `INSERT INTO agent_question_images (question_id, position, media_id) VALUES ($1, $2, $3)`,
        [questionId, position, mediaId],
      );
    if (woken) await wake(tx, 'agentAnswer', [{ questionId, clubId, agentId }], acceptedAt);
  });
  if (woken) db.notifier.notify();
  return { ...whose, questionId, answerId };
}

/**
 * A question in a new conversation with this reserve in the club's budget. @returns the answer's id
 * @throws DomainError `club_budget_exhausted`, when the budget cannot cover the reserve. The builder then deletes the question
 */
export async function buildCharge(asker: Asker, micros: bigint, acceptedAt: Date): Promise<Id> {
  const conversation = await buildConversation({ createdAt: acceptedAt }, asker);
  return (await buildQuestion({ micros, acceptedAt }, conversation)).answerId;
}

/** Builds an earlier question of the conversation, with an answer that had this outcome. */
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
