/** Measures Postgres: the size of each table with its indexes, its rows, connections, and the waiting work. */
import type { DataSource } from 'typeorm';

export interface TableSize {
  name: string;
  bytes: number;
  rows: number;
}

/** Rows of these tables are removed after a while, so the tables must not grow. */
const passing =
  /^(facts|wakes|webhook_attempts|media_moves|leftover_objects|agent_answer_deltas|one_time_tokens|(student|administrator)_sessions|\w+_changes|rate_limit_counters)$/;

/** The soak creates these tables; the product does not have them. */
const ours = new Set(['fault_facts']);

/** Returns the size of each table. The size of a partitioned table includes the sizes of its partitions. */
export async function tableSizes(source: DataSource): Promise<TableSize[]> {
  const tables = await source.query<{ name: string; bytes: string }[]>(
    `SELECT coalesce(pg_partition_root(pg_class.oid), pg_class.oid)::regclass::text AS name, sum(pg_total_relation_size(pg_class.oid)) AS bytes
       FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
      WHERE nspname = 'public' AND relkind = 'r' GROUP BY 1 ORDER BY 1`,
  );
  const counts = await source.query<{ name: string; rows: string }[]>(
    tables.map(({ name }) => `SELECT '${name}' AS name, count(*) AS rows FROM "${name}"`).join(' UNION ALL '),
  );
  const rows = new Map(counts.map((count) => [count.name, Number(count.rows)]));
  return tables
    .filter(({ name }) => !ours.has(name))
    .map(({ name, bytes }) => ({ name, bytes: Number(bytes), rows: rows.get(name) ?? 0 }));
}

/**
 * Returns whether the product removes the rows of a table after a while. The product does not remove rows such as students and purchases.
 */
export const isPassedThrough = (table: string): boolean => passing.test(table);

export interface Waiting {
  connections: number;
  factsLag: number;
  facts: number;
  wakes: number;
  deliveries: number;
  /** Notices of sales. */
  notices: number;
}

export async function waitingIn(source: DataSource): Promise<Waiting> {
  const [row] = await source.query<Waiting[]>(
    `SELECT (SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database()) AS connections,
            (SELECT coalesce(extract(epoch FROM now() - min(occurred_at)), 0)::float FROM facts) AS "factsLag",
            (SELECT count(*)::int FROM facts) AS facts, (SELECT count(*)::int FROM wakes) AS wakes,
            (SELECT count(*)::int FROM webhook_deliveries WHERE status = 'pending') AS deliveries,
            (SELECT count(*)::int FROM sales_notices WHERE status = 'pending') AS notices`,
  );
  if (!row) throw new Error('Postgres returned no row');
  return row;
}
