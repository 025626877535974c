/**
 * Maps the words of a question to word stems in the club's material: equal stems, stems that differ only in accents, and stems of similarly
 * spelled words.
 */
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { Id } from '../../platform/core/ids.ts';
import { rankingRules, type Term } from './retrieval.policy.ts';
import { wordsOf } from './search-words/search-words.policy.ts';

/**
 * Finds the words of the question in the club's material. The function leaves out the language's stop words, such as `the` and `how`. If
 * the material does not contain a word, the function finds words with a similar spelling by trigrams. It compares the word only with words
 * of the club that have the same first letter and about the same length.
 * @param question any text. No character of the text has a special meaning
 */
export async function termsOf(db: Queries, clubId: Id, question: string): Promise<Term[]> {
  return db.rows<Term>(terms(clubId, firstWords(question)));
}

/** @returns the first words of the question, separated by spaces */
function firstWords(question: string): string {
  const words: string[] = [];
  for (const word of wordsOf(question)) {
    words.push(word);
    if (words.length === rankingRules.words) break;
  }
  return words.join(' ');
}

/** @param words separated by spaces */
const terms = (clubId: Id, words: string) => sql`
  WITH asked AS MATERIALIZED (
    SELECT (row_number() OVER (ORDER BY min(place)))::int - 1 AS word, spelled, unaccent(spelled) AS plain,
           (agent_word_stems(language, spelled))[1] AS lexeme, agent_word_plain_stem(language, spelled) AS stem
      FROM (SELECT * FROM string_to_table(${words}, ' ') WITH ORDINALITY AS token (spelled, place)
             WHERE length(spelled) BETWEEN 1 AND 64) AS token
     CROSS JOIN (SELECT language FROM clubs WHERE id = ${clubId}) AS club
     GROUP BY spelled, language),
  meant AS MATERIALIZED (
    SELECT asked.word, same.lexeme, sum(same.passages)::int AS passages
      FROM asked CROSS JOIN LATERAL (
        SELECT seq, lexeme, passages FROM agent_words WHERE club_id = ${clubId} AND lexeme = asked.lexeme
         UNION SELECT seq, lexeme, passages FROM agent_words WHERE club_id = ${clubId} AND stem = asked.stem) AS same
     WHERE asked.lexeme IS NOT NULL AND asked.stem IS NOT NULL
     GROUP BY 1, 2 HAVING sum(same.passages) > 0),
  unknown AS (
    SELECT word, plain FROM asked
     WHERE lexeme IS NOT NULL AND stem IS NOT NULL AND length(plain) BETWEEN 4 AND 30
       AND NOT EXISTS (SELECT FROM meant WHERE meant.word = asked.word)
     ORDER BY word LIMIT ${rankingRules.misspelled}),
  alike AS (
    SELECT unknown.word, near.lexeme, near.passages, near.likeness
      FROM unknown CROSS JOIN LATERAL (
        SELECT lexeme, sum(passages)::int AS passages, max(similarity(word, unknown.plain)) AS likeness FROM agent_words
         WHERE club_id = ${clubId} AND initial = left(unknown.plain, 1) AND size BETWEEN length(unknown.plain) - 2 AND length(unknown.plain) + 2
           AND similarity(word, unknown.plain) >= 0.3
         GROUP BY lexeme HAVING sum(passages) > 0 ORDER BY likeness DESC, passages DESC LIMIT 3) AS near)
  SELECT word, lexeme, passages, 1 AS likeness FROM meant
   UNION ALL SELECT word, lexeme, passages, likeness FROM alike
   ORDER BY word, lexeme`;
