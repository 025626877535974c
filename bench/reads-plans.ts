/** Finds the indexes that the statements of a function use, by EXPLAIN. */
import type { DataSource, EntityManager } from 'typeorm';
import { Queries } from '../platform/infra/postgres/database.ts';

/** @returns the indexes in the order of the statements; `sequential: table` for a statement without an index */
export async function indexesOf(source: DataSource, read: (db: Queries) => Promise<unknown>): Promise<string[]> {
  const found = new Set<string>();
  await source.transaction(async (tx) => {
    const send = tx.query.bind(tx);
    const explaining = Object.create(tx, {
      query: {
        value: async (statement: string, parameters?: unknown[]): Promise<unknown> => {
          const [plan] = await send<{ 'QUERY PLAN': unknown }[]>(`EXPLAIN (FORMAT JSON) ${statement}`, parameters);
          for (const name of namesIn(plan?.['QUERY PLAN'])) found.add(name);
          return send(statement, parameters);
        },
      },
    }) as EntityManager;
    await read(new Queries(explaining));
  });
  return [...found];
}

/** Postgres uses no index for these small tables. */
const small = new Set(['clubs', 'courses', 'access_deliveries', 'list_tallies', 'list_tally_changes']);

function namesIn(node: unknown): string[] {
  if (Array.isArray(node)) return node.flatMap(namesIn);
  if (typeof node !== 'object' || node === null) return [];
  const own = 'Index Name' in node ? [String(node['Index Name'])] : [];
  if ('Node Type' in node && node['Node Type'] === 'Seq Scan' && 'Relation Name' in node) {
    const table = String(node['Relation Name']);
    if (!small.has(table)) own.push(`sequential: ${table}`);
  }
  return [...own, ...Object.values(node).flatMap(namesIn)];
}
