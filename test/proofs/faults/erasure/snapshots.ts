/** Reads every row of the database, so that the proof can compare two times, and search for texts. */
import type { DataSource } from 'typeorm';
import type { CatalogTable } from './tables.ts';

interface Row {
  table: string;
  /** Names the row in a report. */
  key: string;
  row: Readonly<Record<string, unknown>>;
}

/** The rows by table and key. */
export type Snapshot = ReadonlyMap<string, Row>;

/** If an erasure leaves more rows in a table, the report has this number of them. */
const rowsPerTable = 200_000;

export async function readRows(source: DataSource, tables: readonly CatalogTable[]): Promise<Snapshot> {
  const snapshot = new Map<string, Row>();
  for (const { name, key, columns } of tables) {
    const rows = await source.query<{ row: Record<string, unknown> }[]>(
      `SELECT to_jsonb(self) AS row FROM ${name} self LIMIT ${rowsPerTable}`,
    );
    const names = key.length > 0 ? key : columns.map((column) => column.name);
    for (const { row } of rows) {
      const text = names.map((column) => String(row[column])).join(' ');
      snapshot.set(`${name} ${text}`, { table: name, key: text, row });
    }
  }
  return snapshot;
}
