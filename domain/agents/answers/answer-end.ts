/** Ends an answer exactly once. One transaction writes the last words, the whole text, the citations, the call and the charge. */
import { IsNull } from 'typeorm';
import type { Database, Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { AgentAnswer } from '../../../entities/agents/agent-answer.ts';
import { AgentCall } from '../../../entities/agents/agent-call.ts';
import type { AnswerStatus } from '../../../entities/agents/values.ts';
import type { AnswerError } from '../agents.policy.ts';
import type { AnswerRow } from './answer-rows.ts';
import { estimatedTokens } from './answers.policy.ts';
import { settleBudget } from '../budget/budget.ts';
import type { Citation } from '../prompt/citations.policy.ts';
import { maxOutputTokens } from '../prompt/models.policy.ts';
import type { Delta } from './delta-log.ts';
import { charactersOf } from './delta-text.policy.ts';
import type { TokenUse } from '../../../platform/infra/model/model.ts';
import { costOf } from '../prompt/prices.policy.ts';

interface Ended {
  status: Exclude<AnswerStatus, 'generating'>;
  errorCode?: AnswerError | undefined;
}

/** The result of the model's stream, also of a stream that broke off. */
export interface StreamResult extends Ended {
  answerId: Id;
  callNo: number;
  model: string;
  /** The maximum size of the answer. */
  maxTokens: number;
  text: string;
  /** The words of the text that the log does not contain yet. */
  rest: Delta;
  citations: readonly Citation[];
  use: TokenUse;
  /** The stream ended before the model had counted its output. */
  isCut: boolean;
}

/** The data of a stream whose answer was ended by another transaction. */
export interface StreamedText {
  text: string;
  /** The tokens that the model has reported; absent if its stream has not begun. */
  use?: TokenUse;
  /** Whether the model has reported the tokens of the answer, and not only of the prompt. */
  isCounted: boolean;
}

/** The text of a stream, if only the row of its call is known. */
export const nothingStreamed: StreamedText = { text: '', isCounted: false };

/** An answer whose stream broke off on the platform's side. */
type Cut = Pick<AnswerRow, 'id' | 'callNo' | 'model' | 'maxTokens'>;

/** Locks an answer that this call has not ended yet. @returns false if the answer has ended or has a newer call */
async function lockAnswer(tx: Transaction, answerId: Id, callNo: number): Promise<boolean> {
  const rows = await tx.rows(
    sql`SELECT 1 FROM agent_answers WHERE id = ${answerId} AND call_no = ${callNo} AND status = 'generating' FOR NO KEY UPDATE`,
  );
  return rows.length === 1;
}

/** @returns false if another transaction has ended the answer, which then does not change */
export async function endStreamed(db: Database, result: StreamResult, now: Date): Promise<boolean> {
  return db.transaction(async (tx) => {
    const { answerId, callNo, rest } = result;
    if (!(await lockAnswer(tx, answerId, callNo))) return false;
    if (rest.text !== '') {
      await tx.run(
        sql`INSERT INTO agent_answer_deltas (answer_id, starts_at, text) VALUES (${answerId}, ${rest.startsAt}, ${rest.text})
            ON CONFLICT (answer_id, starts_at) DO UPDATE SET text = excluded.text`,
      );
    }
    await end(tx, answerId, result, result.text, now);
    await cite(tx, answerId, result.citations);
    await settle(tx, result, result.text, now);
    return true;
  });
}

/**
 * Ends an answer whose worker died after the stream had begun. The answer consists of the words in its log. The club pays for the tokens
 * of the prompt and for an estimate of the words.
 */
export async function endInterrupted(db: Database, answer: Cut, now: Date): Promise<boolean> {
  return db.transaction(async (tx) => {
    if (!(await lockAnswer(tx, answer.id, answer.callNo))) return false;
    const text = await textOfLog(tx, answer.id);
    await end(tx, answer.id, { status: 'failed', errorCode: 'interrupted' }, text, now);
    await settleCut(tx, answer, { text, isCounted: false }, 'interrupted', now);
    return true;
  });
}

/** Fails an answer whose stream has not begun. The club pays nothing. */
export async function failUnbegun(
  tx: Transaction,
  answer: { id: Id; callNo: number },
  errorCode: AnswerError,
  now: Date,
): Promise<boolean> {
  if (!(await lockAnswer(tx, answer.id, answer.callNo))) return false;
  await abandonCall(tx, answer, now);
  await end(tx, answer.id, { status: 'failed', errorCode }, '', now);
  await settleBudget(tx, answer.id, 0n, now);
  return true;
}

/**
 * Charges for an answer that another transaction has ended, because its student was removed or its conversation deleted (ANS-4). The club
 * still pays for the last call, because the model may have read the prompt. The cost is the use that the model reported, or else the
 * estimate in the call's row. A call that the model refused costs nothing. A second call of this function changes nothing.
 */
export async function settleEnded(db: Database, answer: Cut, streamed: StreamedText, now: Date): Promise<void> {
  await db.transaction(async (tx) => {
    // Only the last call is charged, because the process of an earlier call does not know the cost of the last call.
    const ended = await tx.one<{ errorCode: AnswerError | null }>(
      sql`SELECT ${columns(AgentAnswer, ['errorCode'])} FROM agent_answers
           WHERE id = ${answer.id} AND call_no = ${answer.callNo} AND status <> 'generating' FOR NO KEY UPDATE`,
    );
    if (ended) await settleCut(tx, answer, streamed, ended.errorCode ?? 'interrupted', now);
  });
}

/** Marks an open call as abandoned. Its row keeps the possible cost, but the club does not pay this cost. */
async function abandonCall(tx: Transaction, answer: { id: Id; callNo: number }, now: Date): Promise<void> {
  const open = { answerId: answer.id, callNo: answer.callNo, outcome: IsNull() };
  await tx.manager.update(AgentCall, open, { outcome: 'abandoned', endedAt: now });
}

async function end(tx: Transaction, answerId: Id, ended: Ended, text: string, now: Date): Promise<void> {
  await tx.manager.update(
    AgentAnswer,
    { id: answerId },
    {
      status: ended.status,
      errorCode: ended.errorCode ?? null,
      content: text,
      completedAt: now,
      leaseUntil: null,
      looksAt: now,
    },
  );
}

/** If a source has left the index, its citation gets no link. The lock keeps the source in the index until the citations are written. */
async function cite(tx: Transaction, answerId: Id, citations: readonly Citation[]): Promise<void> {
  if (citations.length === 0) return;
  const cited = JSON.stringify(citations.map((citation, position) => ({ position, ...citation })));
  await tx.run(
    sql`WITH cited AS (
          SELECT * FROM jsonb_to_recordset(${cited}::jsonb) AS each (position smallint, "citedText" text, "sourceId" uuid,
                 "sourceKind" text, "sourceTitle" text, "pageFrom" integer, "pageTo" integer, "fromSeconds" integer, "toSeconds" integer)),
        standing AS (
          SELECT source.id FROM agent_sources source
            WHERE source.id IN (SELECT "sourceId" FROM cited) AND source.removed_at IS NULL
           ORDER BY source.id FOR KEY SHARE)
        INSERT INTO agent_citations (answer_id, position, cited_text, source_id, source_kind, source_title, page_from, page_to, from_seconds,
                                     to_seconds)
        SELECT ${answerId}, position, "citedText", standing.id, "sourceKind", "sourceTitle", "pageFrom", "pageTo", "fromSeconds",
               "toSeconds"
          FROM cited LEFT JOIN standing ON standing.id = cited."sourceId"`,
  );
}

async function settle(tx: Transaction, result: StreamResult, text: string, now: Date): Promise<void> {
  const { answerId, callNo, model, status, errorCode, isCut } = result;
  const use = isCut ? { ...result.use, output: outputOf(text, result) } : result.use;
  const call = await tx.one<Pick<AgentCall, 'startedAt'>>(
    sql`SELECT ${columns(AgentCall, ['startedAt'])} FROM agent_calls WHERE answer_id = ${answerId} AND call_no = ${callNo}`,
  );
  const cost = costOf(model, use, call?.startedAt ?? now);
  await tx.manager.update(
    AgentCall,
    { answerId, callNo },
    {
      outcome: status === 'failed' ? 'failed' : 'answered',
      errorCode: errorCode ?? null,
      endedAt: now,
      inputTokens: use.input,
      outputTokens: use.output,
      cacheWriteTokens: use.cacheWrite,
      cacheReadTokens: use.cacheRead,
      estimated: isCut,
      costMicros: String(cost),
    },
  );
  await settleBudget(tx, answerId, cost, now);
}

const tokenUse = columns(AgentCall, {
  input: 'inputTokens',
  output: 'outputTokens',
  cacheWrite: 'cacheWriteTokens',
  cacheRead: 'cacheReadTokens',
});

/** Charges the use that the model reported, or else the use in the call's row. The row contains an estimate until the stream begins. */
async function settleCut(
  tx: Transaction,
  answer: Cut,
  { text, use: reported, isCounted }: StreamedText,
  errorCode: AnswerError,
  now: Date,
): Promise<void> {
  const inRow = await tx.one<TokenUse>(
    sql`SELECT ${tokenUse} FROM agent_calls WHERE answer_id = ${answer.id} AND call_no = ${answer.callNo} AND outcome IS NULL`,
  );
  if (!inRow) return settleBudget(tx, answer.id, 0n, now);
  const { id: answerId, callNo, model, maxTokens } = answer;
  const cut = { answerId, callNo, model, maxTokens, text, citations: [] };
  await settle(
    tx,
    { ...cut, rest: { startsAt: 0, text: '' }, use: reported ?? inRow, isCut: !isCounted, status: 'failed', errorCode },
    text,
    now,
  );
}

/** Estimates the tokens of the output. The estimate is at least the counted tokens, and at most the limit of the request. */
function outputOf(text: string, { use, model, maxTokens }: Pick<StreamResult, 'use' | 'model' | 'maxTokens'>): number {
  return Math.max(use.output, Math.min(estimatedTokens(charactersOf(text)), maxOutputTokens(model, maxTokens)));
}

async function textOfLog(tx: Transaction, answerId: Id): Promise<string> {
  const row = await tx.one<{ text: string }>(
    sql`SELECT coalesce(string_agg(text, '' ORDER BY starts_at), '') AS text FROM agent_answer_deltas WHERE answer_id = ${answerId}`,
  );
  return row?.text ?? '';
}
