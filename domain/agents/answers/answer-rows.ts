/** Reads and changes the row of an answer: reads its state, claims a call, records the beginning of the stream, and releases the row. */
import { IsNull } from 'typeorm';
import type { Id } from '../../../platform/core/ids.ts';
import { AgentAnswer } from '../../../entities/agents/agent-answer.ts';
import { AgentCall } from '../../../entities/agents/agent-call.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { prepared } from '../../../platform/infra/postgres/prepared.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { AnswerStatus, CallOutcome } from '../../../entities/agents/values.ts';
import type { AnswerError } from '../agents.policy.ts';
import { answerRules } from './answers.policy.ts';
import type { TokenUse } from '../../../platform/infra/model/model.ts';

export interface AnswerRow {
  id: Id;
  questionId: Id;
  clubId: Id;
  agentId: Id;
  conversationId: Id;
  status: AnswerStatus;
  errorCode: AnswerError | null;
  model: string;
  maxTokens: number;
  callNo: number;
  begunAt: Date | null;
  looksAt: Date;
  createdAt: Date;
  /** The number of milliseconds until the current lease ends; 0 if no worker holds a lease. */
  leaseMs: number;
  lastError: AnswerError | null;
  isSettled: boolean;
  agentName: string;
  instructions: string;
  question: string;
}

const selectAnswer = prepared<AnswerRow, { questionId: Id }>(
  'select_answer_of_question',
  (
    value,
  ) => `SELECT answer.id, answer.question_id AS "questionId", answer.club_id AS "clubId", answer.agent_id AS "agentId",
          answer.conversation_id AS "conversationId", answer.status, answer.error_code AS "errorCode", answer.model,
          answer.max_tokens AS "maxTokens", answer.call_no AS "callNo", answer.begun_at AS "begunAt",
          answer.looks_at AS "looksAt", answer.created_at AS "createdAt",
          coalesce(greatest(0, ceil(1000 * extract(epoch FROM answer.lease_until - clock_timestamp()))), 0)::integer AS "leaseMs",
          call.error_code AS "lastError", charge.settled_at IS NOT NULL AS "isSettled",
          agent.name AS "agentName", agent.instructions, question.content AS question
     FROM agent_answers answer
     JOIN agent_questions question ON question.id = answer.question_id
     JOIN agents agent ON agent.id = answer.agent_id
     LEFT JOIN agent_calls call ON call.answer_id = answer.id AND call.call_no = answer.call_no
     LEFT JOIN agent_charges charge ON charge.answer_id = answer.id
    WHERE answer.question_id = ${value.questionId}`,
);

export async function readAnswerState(db: Queries, questionId: Id): Promise<AnswerRow | undefined> {
  const [row] = await selectAnswer(db, { questionId });
  return row;
}

/** Claims the next call. Returns no row if another worker has claimed the answer since the caller read it. */
const claim = prepared<
  { callNo: number },
  Pick<AnswerRow, 'id' | 'callNo'> & { now: Date; inputTokens: number; costMicros: string }
>(
  'claim_answer_call',
  (value) => `WITH claimed AS (
     UPDATE agent_answers
        SET call_no = call_no + 1, lease_until = clock_timestamp() + ${answerRules.leaseMs} * interval '1 millisecond',
            looks_at = ${value.now}
      WHERE id = ${value.id} AND call_no = ${value.callNo} AND status = 'generating' AND begun_at IS NULL
        AND (lease_until IS NULL OR lease_until < clock_timestamp())
      RETURNING id, call_no, model),
   unheard AS (
     UPDATE agent_calls SET outcome = 'abandoned', ended_at = ${value.now}
      WHERE answer_id = ${value.id} AND call_no = ${value.callNo} AND outcome IS NULL AND EXISTS (SELECT FROM claimed))
   INSERT INTO agent_calls (answer_id, call_no, model, started_at, input_tokens, cost_micros, estimated)
   SELECT id, call_no, model, ${value.now}, ${value.inputTokens}, ${value.costMicros}, true FROM claimed RETURNING call_no AS "callNo"`,
);

/**
 * Claims the answer's next call, and commits the claim before the request is sent. An earlier call without a recorded outcome is marked as
 * abandoned.
 * @param estimate the cost of the request if no worker records its outcome
 * @returns the call's number, or undefined if another worker was faster or the answer has ended
 */
export async function claimCall(
  db: Queries,
  { id, callNo }: AnswerRow,
  estimate: { inputTokens: number; costMicros: bigint },
  now: Date,
): Promise<number | undefined> {
  const [row] = await claim(db, {
    id,
    callNo,
    now,
    inputTokens: estimate.inputTokens,
    costMicros: String(estimate.costMicros),
  });
  return row?.callNo;
}

const begin = prepared<object, TokenUse & { id: Id; callNo: number; now: Date; requestId: string | null }>(
  'begin_answer',
  (value) => `WITH begun AS (
     UPDATE agent_answers SET begun_at = coalesce(begun_at, ${value.now})
      WHERE id = ${value.id} AND call_no = ${value.callNo} AND status = 'generating' RETURNING id),
   used AS (
     UPDATE agent_calls
        SET request_id = ${value.requestId}, input_tokens = ${value.input}, cache_write_tokens = ${value.cacheWrite}, cache_read_tokens = ${value.cacheRead}, output_tokens = ${value.output}
       FROM begun WHERE answer_id = ${value.id} AND call_no = ${value.callNo})
   SELECT FROM begun`,
);

/**
 * Records that the model's stream has begun. From now on, the model is not called again for this answer. The call's row stores the number
 * of prompt tokens, so that the club can be charged even if this worker dies.
 */
export async function beginAnswer(
  db: Queries,
  { id }: AnswerRow,
  callNo: number,
  { requestId, use }: { requestId: string | null; use: TokenUse },
  now: Date,
): Promise<boolean> {
  const rows = await begin(db, {
    id,
    callNo,
    now,
    requestId,
    input: use.input,
    cacheWrite: use.cacheWrite,
    cacheRead: use.cacheRead,
    output: use.output,
  });
  return rows.length === 1;
}

export interface CallEnd {
  outcome: CallOutcome;
  errorCode: AnswerError | null;
  requestId: string | null;
}

/** Ends a call before its stream has begun. The row of an abandoned call keeps the estimate, because its cost is unknown. */
export async function endUnbegunCall(
  tx: Transaction,
  { id }: AnswerRow,
  callNo: number,
  { outcome, errorCode, requestId }: CallEnd,
  now: Date,
): Promise<void> {
  const estimated = outcome === 'abandoned';
  // If a deletion of the conversation ended the answer first, the row must not store the request's id: with this id the model's provider
  // could find the deleted words.
  const isOpen = await tx.one(
    sql`SELECT FROM agent_answers WHERE id = ${id} AND status = 'generating' FOR NO KEY UPDATE`,
  );
  await tx.manager.update(
    AgentCall,
    { answerId: id, callNo, outcome: IsNull() },
    {
      outcome,
      errorCode,
      requestId: isOpen ? requestId : null,
      endedAt: now,
      estimated,
      ...(!estimated && { inputTokens: 0, costMicros: '0' }),
    },
  );
}

/** Releases an answer whose stream has not begun. */
export async function releaseAnswer(tx: Transaction, { id }: AnswerRow, callNo: number, at: Date): Promise<void> {
  const unbegun = { id, callNo, status: 'generating' as const, begunAt: IsNull() };
  await tx.manager.update(AgentAnswer, unbegun, { leaseUntil: null, looksAt: at });
}

/** The report of an ended run for operators. It contains numbers and codes, but no text. */
export interface AnswerReport {
  status: AnswerStatus;
  error_code?: AnswerError;
  model: string;
  calls: number;
  input_tokens: number;
  output_tokens: number;
  cache_write_tokens: number;
  cache_read_tokens: number;
  /** The charge to the club, in millionths of a US dollar. */
  cost_micros: number;
  /** The cost of calls that the club does not pay. */
  abandoned_micros: number;
}

/** @returns undefined if the answer was deleted with its club */
export async function reportOn(db: Queries, id: Id): Promise<AnswerReport | undefined> {
  const row = await db.one<Omit<AnswerReport, 'error_code'> & { error_code: AnswerError | null }>(
    sql`SELECT answer.status, answer.error_code, answer.model, answer.call_no::integer AS calls,
            coalesce(sum(call.input_tokens), 0)::integer AS input_tokens,
            coalesce(sum(call.output_tokens), 0)::integer AS output_tokens,
            coalesce(sum(call.cache_write_tokens), 0)::integer AS cache_write_tokens,
            coalesce(sum(call.cache_read_tokens), 0)::integer AS cache_read_tokens,
            coalesce(max(charge.cost_micros), 0)::float8 AS cost_micros,
            coalesce(sum(call.cost_micros) FILTER (WHERE call.outcome = 'abandoned'), 0)::float8 AS abandoned_micros
       FROM agent_answers answer
       LEFT JOIN agent_calls call ON call.answer_id = answer.id
       LEFT JOIN agent_charges charge ON charge.answer_id = answer.id
      WHERE answer.id = ${id} GROUP BY answer.id`,
  );
  if (!row) return undefined;
  const { error_code: errorCode, ...report } = row;
  return { ...report, ...(errorCode !== null && { error_code: errorCode }) };
}
