/** Questions that reserve of a club's AI budget, and their answers, without a model: rows as accepting and ending write them. */
import type { AnswerStatus } from '../../../domain/agents/agents.policy.ts';
import { reserveBudget, settleBudget } from '../../../domain/agents/budget.ts';
import { inTransaction } from '../../../domain/core/database.ts';
import { newId, type Id } from '../../../domain/core/ids.ts';
import { testDatabase, testPlatform } from '../stack/database.ts';
import { buildStudent } from './factories.ts';

export interface Asker {
  clubId: Id;
  agentId: Id;
  studentId: Id;
}

/** A published agent of the club, and a student who asks it. */
export async function buildAsker(clubId: Id, { name = 'Bosun' } = {}): Promise<Asker> {
  const source = await testDatabase();
  const agentId = newId();
  await source.query(
    `INSERT INTO agents (id, club_id, public_id, name, status, daily_limit, answer_max_tokens, created_at, updated_at)
     VALUES ($1, $2, $3, $4, 'published', 50, 1024, $5, $5)`,
    [agentId, clubId, agentId.slice(-12), name, new Date()],
  );
  return { clubId, agentId, studentId: (await buildStudent(clubId)).id };
}

/**
 * Accepts a question that reserves so much. @returns the answer's id
 * @throws DomainError club_budget_exhausted; nothing is left behind then
 */
export async function ask({ clubId, agentId, studentId }: Asker, micros: bigint, now: Date): Promise<Id> {
  const { database } = await testPlatform();
  const [conversationId, questionId, answerId] = [newId(), newId(), newId()];
  await inTransaction(database, async (tx) => {
    await tx.query(
      `INSERT INTO agent_conversations (id, club_id, agent_id, student_id, title, created_at, last_message_at)
       VALUES ($1, $2, $3, $4, 'Knots', $5, $5)`,
      [conversationId, clubId, agentId, studentId, now],
    );
    await tx.query(
      `INSERT INTO agent_questions (id, club_id, agent_id, student_id, conversation_id, content, asked_at)
       VALUES ($1, $2, $3, $4, $5, 'Which knot?', $6)`,
      [questionId, clubId, agentId, studentId, conversationId, now],
    );
    await tx.query(
      `INSERT INTO agent_answers (id, question_id, club_id, agent_id, student_id, conversation_id, model, max_tokens, looks_at, created_at)
       VALUES ($1, $2, $3, $4, $5, $6, 'claude-sonnet-5-5', 1024, $7, $7)`,
      [answerId, questionId, clubId, agentId, studentId, conversationId, now],
    );
    await reserveBudget(tx, { clubId, agentId, answerId, micros }, now);
  });
  return answerId;
}

export interface End {
  status: Exclude<AnswerStatus, 'generating'>;
  cost: bigint;
  tokens?: { input: number; output: number; cacheWrite: number; cacheRead: number };
}

/** Ends an answer after one call that used and cost so much. */
export async function end(answerId: Id, { status, cost, tokens }: End, now: Date): Promise<void> {
  const { database } = await testPlatform();
  const used = tokens ?? { input: 0, output: 0, cacheWrite: 0, cacheRead: 0 };
  await inTransaction(database, async (tx) => {
    await tx.query(
      `INSERT INTO agent_calls (answer_id, call_no, model, started_at, ended_at, outcome, input_tokens, output_tokens, cache_write_tokens, cache_read_tokens, cost_micros)
       VALUES ($1, 1, 'claude-sonnet-5-5', $2, $2, 'answered', $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING`,
      [answerId, now, used.input, used.output, used.cacheWrite, used.cacheRead, String(cost)],
    );
    await tx.query(
      `UPDATE agent_answers SET status = $2::text, call_no = 1, completed_at = $3,
              error_code = CASE WHEN $2::text = 'failed' THEN 'interrupted' END WHERE id = $1`,
      [answerId, status, now],
    );
    await settleBudget(tx, answerId, cost, now);
  });
}
