/** The statistics of tables, which Postgres uses to plan statements. */
import type { Database } from './database.ts';
import { raw, sql, tableOf, type Entity } from './sql.ts';

/**
 * A table is analyzed if at least this fraction of its rows is new. Autovacuum uses the same fraction (`autovacuum_analyze_scale_factor`).
 */
const newPart = 0.1;
/** The minimum number of new rows after which a table is analyzed. If there are fewer new rows, every query plan is fast. */
const least = 1_000;

/**
 * Makes Postgres analyze a table after many rows were added. Autovacuum also analyzes the table, but only after a minute or two. Until
 * then, each statement may use a plan for an almost empty table, and read all new rows. If the process dies before the analysis, autovacuum
 * still makes it later.
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
