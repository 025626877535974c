/** Finds the tables that have no rows, and the states that no row of the database has. */
import type { DataSource } from 'typeorm';
import type { Summary } from './archive.ts';
import type { RecordedTable } from './dump.ts';

/**
 * Matches a CHECK that lists the allowed values of a column, such as `CHECK ((status = ANY (ARRAY['draft'::text, …])))`. A CHECK of a
 * partition counts as a CHECK of the partitioned table.
 */
const listing = /^CHECK \(\((\w+) = ANY \(ARRAY\[(.*)\]\)\)\)$/;

export async function coverageOf(
  source: DataSource,
  tables: readonly RecordedTable[],
): Promise<Pick<Summary, 'rows' | 'emptyTables' | 'missingStates'>> {
  const checks = await source.query<{ table: string; definition: string }[]>(
    `SELECT conrelid::regclass::text AS table, pg_get_constraintdef(oid) AS definition FROM pg_constraint
      WHERE contype = 'c' AND connamespace = 'public'::regnamespace AND conrelid <> 0
        AND NOT (SELECT relispartition FROM pg_class WHERE pg_class.oid = conrelid) ORDER BY 1, 2`,
  );
  const missingStates: string[] = [];
  for (const { table, definition } of checks) {
    const [, column = '', list = ''] = listing.exec(definition) ?? [];
    if (column === '') continue;
    const found = await source.query<{ value: string }[]>(`SELECT DISTINCT ${column}::text AS value FROM ${table}`);
    const presentValues = new Set(found.map(({ value }) => value));
    const values = [...list.matchAll(/'([^']*)'::text/g)].map(([, value = '']) => value);
    for (const value of values) if (!presentValues.has(value)) missingStates.push(`${table}.${column}: ${value}`);
  }
  const named = tables.toSorted((one, other) => one.name.localeCompare(other.name));
  return {
    rows: Object.fromEntries(named.flatMap(({ name, rows }) => (rows.length > 0 ? [[name, rows.length]] : []))),
    emptyTables: named.flatMap(({ name, rows }) => (rows.length === 0 ? [name] : [])),
    missingStates,
  };
}
