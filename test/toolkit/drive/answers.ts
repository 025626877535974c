/** Acts as the worker that writes answers: writes log entries, ends an answer with its citations, and sends a NOTIFY after each commit. */
import { answersChannel, tagOf } from '../../../domain/agents/answers/answers-channel.ts';
import type { AnswerStatus } from '../../../entities/agents/values.ts';
import type { AnswerError } from '../../../domain/agents/agents.policy.ts';
import { settleBudget } from '../../../domain/agents/budget/budget.ts';
import { Transaction } from '../../../platform/infra/postgres/database.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { testDatabase } from '../stack/database.ts';

interface CitationToWrite {
  citedText: string;
  sourceId?: Id | null;
  sourceKind?: 'media' | 'lesson';
  sourceTitle?: string;
  pageFrom?: number;
  pageTo?: number;
}

/** Appends a text without a NOTIFY, so that the feed finds the text only by polling. */
export async function appendWithoutNotify(answerId: Id, ...texts: readonly string[]): Promise<void> {
  const source = await testDatabase();
  await source.transaction((manager) => writeLog(new Transaction(manager), answerId, texts));
}

/** Appends each text as a separate entry, all in one transaction. */
export async function appendWords(answerId: Id, ...texts: readonly string[]): Promise<void> {
  await appendWithoutNotify(answerId, ...texts);
  await notifyStreams(answerId);
}

async function writeLog(tx: Transaction, answerId: Id, texts: readonly string[]): Promise<void> {
  await tx.manager.query(`SELECT 1 FROM agent_answers WHERE id = $1 FOR SHARE`, [answerId]);
  for (const text of texts)
    await tx.manager.query(
      `INSERT INTO agent_answer_deltas (answer_id, starts_at, text)
       SELECT id, coalesce((SELECT max(starts_at + char_length(text)) FROM agent_answer_deltas WHERE answer_id = $1), 0), $2
         FROM agent_answers WHERE id = $1 AND status = 'generating'`,
      [answerId, text],
    );
}

/** Sends the NOTIFY of a worker about this answer. Without an id, the NOTIFY is about any answer. */
export async function notifyStreams(answerId?: Id): Promise<void> {
  const payload = answerId === undefined ? '' : tagOf(answerId);
  await (await testDatabase()).query(`SELECT pg_notify('${answersChannel}', $1)`, [payload]);
}

interface Ending {
  status?: Exclude<AnswerStatus, 'generating'>;
  errorCode?: AnswerError;
  /** The last words of the answer, which are committed with the end. */
  text?: string;
  citations?: readonly CitationToWrite[];
  /** The cost of the model call in millionths of a US dollar. 0 means that there was no call. */
  cost?: bigint;
  tokens?: { input: number; output: number; cacheWrite: number; cacheRead: number };
  at?: Date;
  notified?: boolean;
}

/**
 * Ends an answer as the workflow does: writes the last words, the content, the citations, the model call and the settlement in one
 * transaction.
 */
export async function endAnswer(
  answerId: Id,
  {
    status = 'complete',
    errorCode = status === 'failed' ? 'interrupted' : undefined,
    text = '',
    citations = [],
    cost = 0n,
    tokens = { input: 0, output: 0, cacheWrite: 0, cacheRead: 0 },
    at = new Date(),
    notified = true,
  }: Ending = {},
): Promise<void> {
  const source = await testDatabase();
  await source.transaction(async (manager) => {
    const tx = new Transaction(manager);
    if (text !== '') await writeLog(tx, answerId, [text]);
    await tx.manager.query(
      `UPDATE agent_answers SET status = $2, error_code = $3, completed_at = $4,
              content = (SELECT coalesce(string_agg(text, '' ORDER BY starts_at), '') FROM agent_answer_deltas WHERE answer_id = $1)
        WHERE id = $1 AND status = 'generating'`,
      [answerId, status, errorCode ?? null, at],
    );
    if (cost > 0n)
      await tx.manager.query(
        `WITH call AS (UPDATE agent_answers SET call_no = 1 WHERE id = $1)
         INSERT INTO agent_calls (answer_id, call_no, model, started_at, ended_at, outcome, input_tokens, output_tokens, cache_write_tokens, cache_read_tokens, cost_micros)
         VALUES ($1, 1, 'claude-sonnet-5-5', $2, $2, 'answered', $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING`,
        [answerId, at, tokens.input, tokens.output, tokens.cacheWrite, tokens.cacheRead, String(cost)],
      );
    for (const [position, citation] of citations.entries())
      await tx.manager.query(
        `INSERT INTO agent_citations (answer_id, position, cited_text, source_id, source_kind, source_title, page_from, page_to)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
        [
          answerId,
          position,
          citation.citedText,
          citation.sourceId ?? null,
          citation.sourceKind ?? 'lesson',
          citation.sourceTitle ?? 'Bends',
          citation.pageFrom ?? null,
          citation.pageTo ?? null,
        ],
      );
    await settleBudget(tx, answerId, cost, at);
  });
  if (notified) await notifyStreams(answerId);
}

export const failAnswer = (answerId: Id, errorCode: AnswerError, ending: Ending = {}): Promise<void> =>
  endAnswer(answerId, { ...ending, status: 'failed', errorCode });

/** Deletes the log of an answer, as the upkeep does one hour after the end of the answer. */
export async function deleteLog(answerId: Id): Promise<void> {
  const source = await testDatabase();
  await source.query(`DELETE FROM agent_answer_deltas WHERE answer_id = $1`, [answerId]);
  await source.query(`UPDATE agent_answers SET log_folded_at = now() WHERE id = $1`, [answerId]);
}
