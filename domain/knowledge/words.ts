/**
 * Counts the words of clubs' material. Triggers add a row for each change of a word's count, and upkeep merges these rows to one row per
 * word (docs/adr/0014-retrieval.md).
 */
import type { Database } from '../../platform/infra/postgres/database.ts';
import { raw, sql } from '../../platform/infra/postgres/sql.ts';

const key = 'club_id, lexeme, word, initial, size, stem';

/**
 * Merges the rows of each changed word into one, and deletes words that no passage contains. Rows that are added meanwhile wait for a later
 * batch.
 * @returns the number of merged changes
 */
export async function rollUpWords(db: Database, limit: number): Promise<number> {
  return db.transaction(async (tx) => {
    const rolledUp = await tx.one<{ changes: number }>(sql`WITH changed AS (
         SELECT * FROM agent_words WHERE NOT folded ORDER BY seq LIMIT ${limit} FOR UPDATE SKIP LOCKED),
       taken AS (
         DELETE FROM agent_words WHERE seq IN (
           SELECT same.seq FROM changed JOIN agent_words same USING (${raw(key)})) RETURNING *),
       kept AS (
         INSERT INTO agent_words (${raw(key)}, passages, folded)
         SELECT ${raw(key)}, sum(passages), true FROM taken GROUP BY ${raw(key)} HAVING sum(passages) <> 0)
       SELECT count(*)::int AS changes FROM changed`);
    return rolledUp?.changes ?? 0;
  });
}
