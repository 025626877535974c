/** The statistics of tables, which Postgres uses to plan statements. */
import type { Database } from './database.ts';
import { raw, sql, tableOf, type Entity } from './sql.ts';

/** Autovacuum uses this fraction, too (`autovacuum_analyze_scale_factor`). */
const newPart = 0.1;
/** For fewer new rows, every query plan is fast. */
const least = 1_000;

/**
 * Analyzes a table after many rows were added. Autovacuum does this only after a minute or two; until then, statements may use a plan for
 * an almost empty table.
 * @param added rows that a committed transaction has just added
 */
export async function analyzeAfter(db: Database, entity: Entity, added: number): Promise<void> {
  if (added < least) return;
  const table = tableOf(entity);
  const known = await db.one<{ rows: number }>(
    sql`SELECT reltuples AS rows FROM pg_class WHERE oid = ${table}::regclass`,
  );
  if (known && added >= newPart * known.rows) await db.run(sql`ANALYZE (SKIP_LOCKED) ${raw(table)}`);
}
