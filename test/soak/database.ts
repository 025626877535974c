/** What Postgres holds: the size of each table with its indexes, its rows, connections, and what waits. */
import type { DataSource } from 'typeorm';

export interface TableSize {
  name: string;
  /** With indexes and TOAST. */
  bytes: number;
  rows: number;
}

/** Tables whose rows pass through: they must not pile up, so their whole size counts. */
const passing = /^(facts|wakes|webhook_attempts|media_moves|agent_answer_deltas|\w+_changes|rate_limits?\w*)$/;

/** Tables of the soak itself. */
const ours = new Set(['fault_facts']);

export async function tableSizes(source: DataSource): Promise<TableSize[]> {
  const tables = await source.query<{ name: string; bytes: string }[]>(
    `SELECT relname AS name, pg_total_relation_size(pg_class.oid) AS bytes
       FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
      WHERE nspname = 'public' AND relkind = 'r' ORDER BY relname`,
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
 * The size of all tables without rows that the product keeps: of each such table, rows beyond those of `base` are taken
 * away at what a row took in `base`.
 */
export function sizeWithoutKeptRows(tables: readonly TableSize[], base: readonly TableSize[]): number {
  const before = new Map(base.map((table) => [table.name, table]));
  return tables.reduce((total, { name, bytes, rows }) => {
    const first = before.get(name);
    if (first === undefined || first.rows === 0 || passing.test(name)) return total + bytes;
    return total + bytes - (rows - first.rows) * (first.bytes / first.rows);
  }, 0);
}

export interface Waiting {
  connections: number;
  /** Seconds since the oldest fact that was not told, and since the oldest wake, were recorded. */
  factsLag: number;
  facts: number;
  wakes: number;
  deliveries: number;
}

export async function waitingIn(source: DataSource): Promise<Waiting> {
  const [row] = await source.query<Waiting[]>(
    `SELECT (SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database()) AS connections,
            (SELECT coalesce(extract(epoch FROM now() - min(occurred_at)), 0)::float FROM facts) AS "factsLag",
            (SELECT count(*)::int FROM facts) AS facts, (SELECT count(*)::int FROM wakes) AS wakes,
            (SELECT count(*)::int FROM webhook_deliveries WHERE status = 'pending') AS deliveries`,
  );
  if (!row) throw new Error('Postgres answered without a row.');
  return row;
}
