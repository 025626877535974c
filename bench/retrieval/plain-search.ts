/** Postgres's own search, for comparison: `websearch_to_tsquery` requires all words, and ts_rank orders the results. */
import type { DataSource } from 'typeorm';
import type { Id } from '../../platform/core/ids.ts';
import type { GoldQuestion } from './corpus.ts';

const configurations = { en: 'english', pt: 'portuguese' } as const;

/** @returns the first passages, from title, headings and text like our own search */
export async function searchPlainly(
  source: DataSource,
  clubId: Id,
  { language, question }: GoldQuestion,
  limit: number,
): Promise<{ sourceTitle: string; page: number | null }[]> {
  return source.query(
    `SELECT title AS "sourceTitle", page
       FROM agent_passages, websearch_to_tsquery('${configurations[language]}', $2) AS query,
            to_tsvector('${configurations[language]}', concat_ws(' ', title, array_to_string(headings, ' '), text)) AS document
      WHERE club_id = $1 AND document @@ query ORDER BY ts_rank(document, query) DESC, id LIMIT $3`,
    [clubId, question, limit],
  );
}
