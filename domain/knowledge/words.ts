/** The words of clubs' material: triggers add to their counts, upkeep keeps one row a word (docs/adr/0014-retrieval.md). */
import type { Database } from '../../platform/infra/postgres/database.ts';
import { raw, sql } from '../../platform/infra/postgres/sql.ts';

const key = 'club_id, lexeme, word, initial, size, stem';

/**
 * Makes one row of all rows of each word that has changed, at most `limit` changes at a time. A word that no passage has any more
 * goes. Rows that are added meanwhile wait for a later batch.
 * @returns how many changes were rolled up
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
