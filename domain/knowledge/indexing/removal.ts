/**
 * Removes a source that has left the index (ANS-7). A source can have many passages, and a trigger updates the count of each word of a
 * deleted passage. So the removal works in batches. After the source has left the index, no search finds the passages of the source, and no
 * citation links to them. If a process dies, the next attempt removes the rest.
 */
import { LeaseLost } from '../../../platform/engine/lease.ts';
import type { Database } from '../../../platform/infra/postgres/database.ts';
import { sql, type Sql } from '../../../platform/infra/postgres/sql.ts';
import type { Claim } from './claims.ts';
import { indexingRules } from './indexing.policy.ts';

interface RemovalDeps {
  db: Database;
  failpoint: (name: 'source_batch_removed') => Promise<void>;
  /** Only tests set it. */
  removalBatch?: number;
}

/**
 * @throws LeaseLost if the claim is no longer valid; the reason of the signal, if it ends the work. The next attempt then removes the rest
 */
export async function removeSource(
  { db, failpoint, removalBatch: batch = indexingRules.removedAStatement }: RemovalDeps,
  { sourceId, fence }: Claim,
  signal: AbortSignal,
  tell: (words: string) => void,
): Promise<void> {
  let deletedRows = 0;
  const inBatches = async (statement: Sql) => {
    for (let count = batch; count === batch;) {
      signal.throwIfAborted();
      count = await db.run(statement);
      deletedRows += count;
      tell(`${deletedRows} passages and citations removed`);
      await failpoint('source_batch_removed');
    }
  };
  await inBatches(sql`
    DELETE FROM agent_passages
     WHERE id = ANY (ARRAY(SELECT id FROM agent_passages WHERE source_id = ${sourceId} LIMIT ${batch}))`);
  await inBatches(sql`
    UPDATE agent_citations citation SET source_id = NULL
      FROM (SELECT answer_id, position FROM agent_citations WHERE source_id = ${sourceId} LIMIT ${batch}) AS cited
     WHERE citation.answer_id = cited.answer_id AND citation.position = cited.position`);
  const removedRows = await db.run(
    sql`DELETE FROM agent_sources WHERE id = ${sourceId} AND fence = ${fence} AND removed_at IS NOT NULL`,
  );
  if (removedRows === 0) throw new LeaseLost();
}
