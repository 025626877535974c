/** Copies a student with all rows that depend on the student, in the catalogue of Postgres and by ids, as often as a proof needs. */
import pg from 'pg';
import type { DataSource } from 'typeorm';
import { withoutLimits } from '../../../../entities/data-source.ts';
import type { Id } from '../../../../platform/core/ids.ts';
import type { CatalogTable } from './tables.ts';

interface BaseRow {
  table: CatalogTable;
  row: Record<string, unknown>;
}

/** Their rows name students, but they belong to the whole club or to the service. */
const shared: ReadonlySet<string> = new Set(['erasures', 'facts', 'wakes', 'failing_steps', 'clubs', 'administrators']);
/** No two sessions of a mentor may overlap, so each copy begins an hour later. */
const hourly: Readonly<Record<string, readonly string[]>> = {
  mentorship_sessions: ['starts_at', 'ends_at', 'busy_until'],
};
const copiesPerStatement = 1_000;

/** A student with every row that names the student, every row that names one of those, and so on. */
interface StudentRows {
  rows: readonly BaseRow[];
  ids: ReadonlySet<string>;
}

/** Reads all tables, so that it must be called before the first copies. */
export async function rowsAbout(
  source: DataSource,
  tables: readonly CatalogTable[],
  studentId: Id,
): Promise<StudentRows> {
  const candidates: BaseRow[] = [];
  for (const table of tables.filter(({ name }) => !shared.has(name))) {
    const rows = await source.query<{ row: Record<string, unknown> }[]>(
      `SELECT to_jsonb(self) AS row FROM ${table.name} self`,
    );
    candidates.push(...rows.map(({ row }) => ({ table, row })));
  }
  const ids = new Set<string>([studentId]);
  const found = new Set<BaseRow>();
  for (let before = -1; before < found.size;) {
    before = found.size;
    for (const one of candidates) {
      if (found.has(one) || !uuidsIn(one).some((value) => ids.has(value))) continue;
      found.add(one);
      if (typeof one.row['id'] === 'string') ids.add(one.row['id']);
    }
  }
  return { rows: [...found], ids };
}

/**
 * Adds this number of copies. Triggers and foreign keys are off meanwhile.
 * @param number of the club, so that the ids of two clubs differ
 * @returns the number of new rows in each table
 */
export async function copyStudent(
  databaseUrl: string,
  { rows, ids }: StudentRows,
  number: number,
  copies: number,
): Promise<Record<string, number>> {
  const client = new pg.Client({ connectionString: databaseUrl });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query(withoutLimits);
    await client.query(`SET session_replication_role = replica`);
    const counts: Record<string, number> = {};
    for (const base of rows) {
      const { name } = base.table;
      for (let first = 1; first <= copies; first += copiesPerStatement) {
        const last = Math.min(copies, first + copiesPerStatement - 1);
        counts[name] = (counts[name] ?? 0) + (await insertCopies(client, base, ids, number, first, last));
      }
    }
    return counts;
  } finally {
    await client.end();
  }
}

const uuidsIn = ({ table, row }: BaseRow): string[] =>
  table.columns.flatMap(({ name, type }) => {
    const value = row[name];
    return type === 'uuid' && typeof value === 'string' ? [value] : [];
  });

async function insertCopies(
  client: pg.Client,
  { table, row }: BaseRow,
  ids: ReadonlySet<string>,
  number: number,
  from: number,
  to: number,
): Promise<number> {
  const copied = table.columns.filter(({ isGenerated }) => !isGenerated);
  const isMapped = (name: string) => typeof row[name] === 'string' && ids.has(row[name]);
  const varied = new Set(
    table.unique.flatMap((columns) =>
      columns.some(isMapped) || columns.some((name) => row[name] === null) ? [] : [variable(table, columns)],
    ),
  );
  const expressions = copied.map(({ name, type }) => {
    const value = row[name];
    if (varied.has(name) && /^(smallint|integer|bigint)/.test(type)) return `base."${name}" + n`;
    if (name === 'seq') return `nextval(pg_get_serial_sequence('${table.name}', 'seq'))`;
    if (isMapped(name) || (varied.has(name) && type === 'uuid')) return copiedId(String(value), number);
    if (hourly[table.name]?.includes(name)) return `base."${name}" + n * interval '1 hour'`;
    if (!varied.has(name) || typeof value !== 'string') return `base."${name}"`;
    if (type === 'bytea') return `sha256(base."${name}" || convert_to('${number}/' || n, 'UTF8'))`;
    if (name === 'email') return `'s${number}-' || n || '-' || base."${name}"`;
    const hash = `md5(base."${name}" || '${number}/' || n)`;
    return `left(${value === value.toUpperCase() ? `upper(${hash})` : hash}, ${Math.min(32, value.length)})`;
  });
  const { rowCount } = await client.query(
    `INSERT INTO ${table.name} (${copied.map(({ name }) => `"${name}"`).join(', ')})
     SELECT ${expressions.join(', ')} FROM jsonb_populate_record(NULL::${table.name}, $1::jsonb) base, generate_series(${from}, ${to}) n
     ON CONFLICT DO NOTHING`,
    [JSON.stringify(row)],
  );
  return rowCount ?? 0;
}

/** The column of a unique key that may differ between two copies: no reference, and if possible no number. */
function variable({ columns, references }: CatalogTable, names: readonly string[]): string {
  const typed = (type: RegExp) =>
    names.findLast(
      (name) =>
        name !== 'club_id' &&
        !references.some(({ column }) => column === name) &&
        type.test(columns.find((one) => one.name === name)?.type ?? ''),
    );
  return typed(/^(uuid|text|bytea)/) ?? typed(/^(smallint|integer|bigint)/) ?? '';
}

/** The beginning stays, because partitions and orders depend on it. */
const copiedId = (id: string, number: number) =>
  `('${id.slice(0, 15)}' || overlay(overlay(left(md5('${id}/${number}/' || n), 18) PLACING '-8' FROM 4 FOR 0) PLACING '-' FROM 9 FOR 0))::uuid`;
