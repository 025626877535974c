/**
 * Computes how many questions a student may still ask, from the agent's limit for 24 hours and the club's budget (AGT-24, LIM-12, LIM-13).
 */
import type { RecordOf } from '../../../contract/contract.ts';
import type { Transaction, Queries } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { isSpent, type Budget } from '../budget/budget.ts';
import { maxOutputTokens } from '../prompt/models.policy.ts';
import { worstCost } from '../prompt/prices.policy.ts';
import { likelyPromptTokens, type PromptParts } from '../prompt/prompt.policy.ts';
import { RefusalToPerson, type RefusalWords } from '../../language/refusal.ts';

/** The specification says: "A per-student cap over 24 hours." */
const windowMs = 24 * 3_600_000;

export interface AgentTerms {
  id: Id;
  instructions: string;
  /** The model that answers: the agent's own model, or the default model of the environment. */
  model: string;
  dailyLimit: number;
  answerMaxTokens: number;
}

export interface Used {
  /** The number of questions in the last 24 hours. Questions of deleted conversations count, too. */
  questions: number;
  /** The time at which the oldest of these questions is 24 hours old. */
  resetsAt: Date | undefined;
}

/** @returns the student's questions to the agent in the 24 hours before `now` */
export async function countQuestions(
  db: Queries,
  { agentId, studentId }: { agentId: Id; studentId: Id },
  now: Date,
): Promise<Used> {
  const row = await db.one<{
    questions: number;
    oldest: Date | null;
  }>(sql`SELECT count(*)::int AS questions, min(asked_at) AS oldest FROM agent_questions
      WHERE agent_id = ${agentId} AND student_id = ${studentId} AND asked_at > ${new Date(now.getTime() - windowMs)}`);
  const oldest = row?.oldest?.getTime();
  return { questions: row?.questions ?? 0, resetsAt: oldest === undefined ? undefined : new Date(oldest + windowMs) };
}

/**
 * @throws DomainError daily_limit_reached, when the student has used up the limit. The error contains the seconds until the student can ask
 * again, unless the limit is 0
 */
export async function requireWithinLimit(
  tx: Transaction,
  { id: agentId, dailyLimit }: AgentTerms,
  studentId: Id,
  { questions }: Used,
  now: Date,
): Promise<void> {
  if (questions <= dailyLimit) return;
  const words: RefusalWords = ({ say }) => say('refusal.daily_limit_reached', { count: dailyLimit });
  if (dailyLimit === 0) throw new RefusalToPerson('daily_limit_reached', words);
  // After the limit was lowered, a student may be several questions above it. The student can ask again only when all of these are older
  // than 24 hours.
  const leaving = await tx.one<{
    at: Date;
  }>(sql`SELECT asked_at AS at FROM agent_questions WHERE agent_id = ${agentId} AND student_id = ${studentId} AND asked_at > ${new Date(now.getTime() - windowMs)}
      ORDER BY asked_at OFFSET ${questions - dailyLimit - 1} LIMIT 1`);
  const leavesAt = (leaving?.at ?? now).getTime() + windowMs;
  const retryAfterSeconds = Math.max(1, Math.ceil((leavesAt - now.getTime()) / 1_000));
  throw new RefusalToPerson('daily_limit_reached', words, { retryAfterSeconds });
}

/** @returns the remaining questions, at least 0 */
export function presentLimits(
  agent: AgentTerms,
  { questions, resetsAt }: Used,
  budget: Budget,
): RecordOf<'AgentLimits'> {
  return {
    daily_limit: agent.dailyLimit,
    used: questions,
    remaining: Math.max(0, agent.dailyLimit - questions),
    ...(resetsAt && { resets_at: resetsAt.toISOString() }),
    club_budget_exhausted: isSpent(budget),
  };
}

/** @returns the highest likely cost of the answer to this question, in millionths of a US dollar */
export function reserveFor(
  { instructions, model, answerMaxTokens }: AgentTerms,
  asked: Omit<PromptParts, 'instructions'>,
  now: Date,
): bigint {
  return worstCost(model, likelyPromptTokens({ instructions, ...asked }), maxOutputTokens(model, answerMaxTokens), now);
}
