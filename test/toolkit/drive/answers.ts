/** Plays the worker that writes answers: words into the log, the end with its citations, and the NOTIFY after each commit. */
import { answersChannel } from '../../../domain/agents/answers-channel.ts';
import type { AnswerError, AnswerStatus } from '../../../domain/agents/agents.policy.ts';
import { settleBudget } from '../../../domain/agents/budget.ts';
import type { Transaction } from '../../../domain/core/database.ts';
import { newId, type Id } from '../../../domain/core/ids.ts';
import { testDatabase } from '../stack/database.ts';

export interface CitationToWrite {
  citedText: string;
  sourceId?: Id | null;
  sourceKind?: 'media' | 'lesson';
  sourceTitle?: string;
  pageFrom?: number;
  pageTo?: number;
}

/** Without a NOTIFY: the feed finds it when it polls. */
export async function appendSilently(answerId: Id, ...texts: readonly string[]): Promise<void> {
  const source = await testDatabase();
  await source.transaction((tx) => writeLog(tx, answerId, texts));
}

/** Appends each text as an entry of its own, all in one transaction. */
export async function append(answerId: Id, ...texts: readonly string[]): Promise<void> {
  await appendSilently(answerId, ...texts);
  await notify();
}

async function writeLog(tx: Transaction, answerId: Id, texts: readonly string[]): Promise<void> {
  await tx.query(`SELECT 1 FROM agent_answers WHERE id = $1 FOR SHARE`, [answerId]);
  for (const text of texts)
    await tx.query(
      `INSERT INTO agent_answer_deltas (answer_id, starts_at, text)
       SELECT id, coalesce((SELECT max(starts_at + char_length(text)) FROM agent_answer_deltas WHERE answer_id = $1), 0), $2
         FROM agent_answers WHERE id = $1 AND status = 'generating'`,
      [answerId, text],
    );
}

export async function notify(): Promise<void> {
  await (await testDatabase()).query(`NOTIFY ${answersChannel}`);
}

export interface Ending {
  status?: Exclude<AnswerStatus, 'generating'>;
  errorCode?: AnswerError;
  /** Its last words, committed with the end. */
  text?: string;
  citations?: readonly CitationToWrite[];
  /** What it is settled with, in millionths of a US dollar. */
  cost?: bigint;
  notified?: boolean;
}

/** Ends an answer as its run does: last words, content, citations and settlement in one transaction. */
export async function finish(
  answerId: Id,
  { status = 'complete', errorCode, text = '', citations = [], cost = 0n, notified = true }: Ending = {},
): Promise<void> {
  const source = await testDatabase();
  const now = new Date();
  await source.transaction(async (tx) => {
    if (text !== '') await writeLog(tx, answerId, [text]);
    await tx.query(
      `UPDATE agent_answers SET status = $2, error_code = $3, completed_at = $4,
              content = (SELECT coalesce(string_agg(text, '' ORDER BY starts_at), '') FROM agent_answer_deltas WHERE answer_id = $1)
        WHERE id = $1 AND status = 'generating'`,
      [answerId, status, errorCode ?? null, now],
    );
    for (const [position, citation] of citations.entries())
      await tx.query(
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
    await settleBudget(tx, answerId, cost, now);
  });
  if (notified) await notify();
}

export const fail = (answerId: Id, errorCode: AnswerError, ending: Ending = {}): Promise<void> =>
  finish(answerId, { ...ending, status: 'failed', errorCode });

/** What upkeep does an hour after the end. */
export async function foldLog(answerId: Id): Promise<void> {
  const source = await testDatabase();
  await source.query(`DELETE FROM agent_answer_deltas WHERE answer_id = $1`, [answerId]);
  await source.query(`UPDATE agent_answers SET log_folded_at = now() WHERE id = $1`, [answerId]);
}

/** An indexed lesson or file of the club, for citations. */
export async function buildSource(clubId: Id, indexed: { lessonId: Id } | { mediaId: Id }): Promise<Id> {
  const source = await testDatabase();
  const id = newId();
  const { lessonId, mediaId } = { lessonId: null, mediaId: null, ...indexed };
  await source.query(
    `INSERT INTO agent_sources (id, club_id, kind, lesson_id, media_id, title, status, indexed_version, created_at, updated_at)
     VALUES ($1, $2, $3, $4, $5, 'Bends', 'ready', 1, now(), now())`,
    [id, clubId, lessonId === null ? 'media' : 'lesson', lessonId, mediaId],
  );
  return id;
}
