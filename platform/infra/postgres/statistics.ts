/** The statistics of tables, which Postgres uses to plan statements. */
import type { Database } from './database.ts';
import { raw, sql, tableOf, type Entity } from './sql.ts';

/** Autovacuum's own rule (`autovacuum_analyze_scale_factor`): the fraction of the table that is new. */
const newPart = 0.1;
/** The smallest number of new rows for an analysis. Fewer rows are read quickly with any query plan. */
const least = 1_000;

/**
 * Makes Postgres analyze a table after many rows were added. Autovacuum does the same within a minute or two. Until then, a plan for an
 * almost empty table may read all new rows at each statement. If the process dies first, autovacuum does the work.
 * @param added the number of rows that a committed transaction has just added
 */
export async function analyzeAfter(db: Database, entity: Entity, added: number): Promise<void> {
  if (added < least) return;
  const table = tableOf(entity);
  const known = await db.one<{ rows: number }>(
    sql`SELECT reltuples AS rows FROM pg_class WHERE oid = ${table}::regclass`,
  );
  if (known && added >= newPart * known.rows) await db.run(sql`ANALYZE (SKIP_LOCKED) ${raw(table)}`);
}
