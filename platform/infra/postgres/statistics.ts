/** What Postgres knows of its tables, by which it plans statements. */
import type { Database } from './database.ts';
import { raw, sql, tableOf, type Entity } from './sql.ts';

/** Autovacuum's own rule (`autovacuum_analyze_scale_factor`): so large a part of the table is new. */
const newPart = 0.1;
/** Fewer rows are read quickly under any plan. */
const least = 1_000;

/**
 * Lets Postgres count a table after many rows were added to it. Autovacuum does the same within a minute or two; until then a plan
 * for an almost empty table may read all the new rows at each statement. What dies before leaves it to autovacuum.
 * @param added how many rows were added just now, in a transaction that has committed
 */
export async function analyzeAfter(db: Database, entity: Entity, added: number): Promise<void> {
  if (added < least) return;
  const table = tableOf(entity);
  const known = await db.one<{ rows: number }>(
    sql`SELECT reltuples AS rows FROM pg_class WHERE oid = ${table}::regclass`,
  );
  if (known && added >= newPart * known.rows) await db.run(sql`ANALYZE (SKIP_LOCKED) ${raw(table)}`);
}
