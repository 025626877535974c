/**
 * Records and loads the database of a release as data: the statements that created the schema, and the rows of every table as Postgres's
 * JSON. Loading a dump needs neither pg_dump nor the migration files of the release (docs/adr/0034-recorded-releases.md).
 */
import type { DataSource, Logger, QueryRunner } from 'typeorm';
import { messageOf } from '../../dev/problem.ts';
import { migrate } from '../../commands/migrate.ts';

export interface RecordedTable {
  readonly name: string;
  /** Without generated columns. */
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  /** Each row as the text of a JSON object, because JavaScript would change 64-bit numbers. The rows are sorted. */
  readonly rows: readonly string[];
}

export interface Dump {
  /** The statements of the migrations in the order in which they ran, including the statements that begin and end transactions. */
  readonly schema: readonly string[];
  /** The tables, sorted so that each comes after the tables to which it refers. */
  readonly tables: readonly RecordedTable[];
  readonly sequences: readonly { readonly name: string; readonly value: string }[];
}

/**
 * Runs every migration in an empty database.
 * @returns the statements that ran, except queries and inserts into `migrations`
 * @throws Error if a statement has parameters, because the text alone would not reproduce the effect of the statement
 */
export async function recordSchema(empty: DataSource): Promise<string[]> {
  const statements: string[] = [];
  const listening: Logger = {
    logQuery(query, parameters) {
      if (/^\s*SELECT\b/i.test(query) || isNoteOfMigration(query)) return;
      if (parameters !== undefined && parameters.length > 0)
        throw new Error(`A migration runs a statement with parameters, which a release cannot hold: ${query}`);
      statements.push(query);
    },
    logQueryError() {},
    logQuerySlow() {},
    logSchemaBuild() {},
    logMigration() {},
    log() {},
  };
  Object.assign(empty, { logger: listening });
  await migrate(empty);
  return statements;
}

/** Inserts into the table `migrations` are left out, because its rows are recorded like the rows of every table. */
const isNoteOfMigration = (query: string) => query.startsWith('INSERT INTO "migrations"');

/** @returns the current rows of every table, and the values of the sequences */
export async function recordRows(source: DataSource): Promise<Omit<Dump, 'schema'>> {
  const tables: RecordedTable[] = [];
  for (const table of await tablesOf(source)) tables.push({ ...table, rows: await rowsOf(source, table) });
  const sequences = await source.query<{ name: string; value: string }[]>(
    `SELECT sequencename AS name, last_value::text AS value FROM pg_sequences
      WHERE schemaname = 'public' AND last_value IS NOT NULL ORDER BY 1`,
  );
  return { tables, sequences };
}

/** @returns the rows of the table in the recorded format, with only these columns */
async function rowsOf(source: DataSource, { name, columns }: Omit<RecordedTable, 'rows'>): Promise<string[]> {
  const names = columns.map((column) => `'${column.name}', "${column.name}"`);
  // The rows are sorted by bytes, so that the order does not depend on the server's collation.
  const rows = await source.query<{ row: string }[]>(
    `SELECT (${joined(names)})::text COLLATE "C" AS row FROM "${name}" ORDER BY 1`,
  );
  return rows.map(({ row }) => row);
}

/** @returns each column whose recorded values are now missing or different, as `table.column` */
export async function lostPlaces(source: DataSource, { name, columns, rows }: RecordedTable): Promise<string[]> {
  const today = await source.query<{ name: string }[]>(
    `SELECT attname AS name FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped`,
    [`public."${name}"`],
  );
  const currentNames = new Set(today.map((column) => column.name));
  const droppedColumns = columns
    .filter((column) => !currentNames.has(column.name))
    .map((column) => `${name}.${column.name}`);
  const remainingColumns = columns.filter((column) => currentNames.has(column.name));
  if (rows.length === 0 || remainingColumns.length === 0) return droppedColumns;
  const now = await rowsOf(source, { name, columns: remainingColumns });
  // Additional rows are not a loss, because a migration may add rows.
  const nowSet = new Set(now);
  if (droppedColumns.length === 0 && rows.every((row) => nowSet.has(row))) return droppedColumns;
  const values = (texts: readonly string[], column: string) =>
    texts.map((text) => JSON.stringify((JSON.parse(text) as Record<string, unknown>)[column])).toSorted();
  const changed = remainingColumns.filter(
    ({ name: column }) => String(values(rows, column)) !== String(values(now, column)),
  );
  return [...droppedColumns, ...changed.map((column) => `${name}.${column.name}`)];
}

/**
 * @returns a sorted list with a line for each column, constraint, index, trigger and function. The list leaves out partitions, because they
 * depend on the day. The list leaves out the names of NOT NULL constraints, because Postgres 18 keeps such a name when a column is renamed.
 */
export async function schemaOf(source: DataSource): Promise<string[]> {
  const lines = await source.query<{ line: string }[]>(
    `SELECT concat_ws(' ', 'column', attrelid::regclass, attname, format_type(atttypid, atttypmod),
                   CASE WHEN attnotnull THEN 'NOT NULL' END, attidentity, attgenerated, pg_get_expr(adbin, adrelid)) AS line
       FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
      WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'v', 'm', 'p') AND NOT relispartition AND attnum > 0 AND NOT attisdropped
     UNION ALL SELECT concat_ws(' ', 'constraint', conrelid::regclass, conname, pg_get_constraintdef(oid))
       FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype <> 'n' AND NOT ${isPartition('conrelid')}
     UNION ALL SELECT concat_ws(' ', 'index', indexdef) FROM pg_indexes
      WHERE schemaname = 'public' AND NOT ${isPartition('tablename::regclass')}
     UNION ALL SELECT concat_ws(' ', 'trigger', pg_get_triggerdef(pg_trigger.oid)) FROM pg_trigger
       JOIN pg_class ON pg_class.oid = tgrelid WHERE relnamespace = 'public'::regnamespace AND NOT tgisinternal AND NOT relispartition
     UNION ALL SELECT concat_ws(' ', 'function', pg_get_functiondef(oid)) FROM pg_proc
      WHERE pronamespace = 'public'::regnamespace AND prokind IN ('f', 'p')
     ORDER BY 1`,
  );
  return lines.map(({ line }) => line);
}

const isPartition = (table: string) => `(SELECT relispartition FROM pg_class WHERE pg_class.oid = ${table})`;

/** A Postgres function accepts 100 arguments, and each column needs two, so each call gets 50 columns. */
function joined(pairs: readonly string[]): string {
  const parts: string[] = [];
  for (let at = 0; at < pairs.length; at += 50)
    parts.push(`jsonb_build_object(${pairs.slice(at, at + 50).join(', ')})`);
  return parts.join(' || ');
}

/**
 * Returns the tables, each after the tables to which it refers. A table may refer to itself. The table `typeorm_metadata` is excluded: it
 * belongs to the schema, because migrations write its rows and the rows name the database.
 */
async function tablesOf(source: DataSource): Promise<Omit<RecordedTable, 'rows'>[]> {
  const columns = await source.query<{ table: string; name: string; type: string }[]>(
    `SELECT class.relname AS table, attname AS name, format_type(atttypid, atttypmod) AS type
       FROM pg_attribute JOIN pg_class class ON class.oid = attrelid
      WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition AND relname <> 'typeorm_metadata' AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
      ORDER BY 1, attnum`,
  );
  const references = await source.query<{ from: string; to: string }[]>(
    `SELECT one.relname AS from, other.relname AS to FROM pg_constraint
       JOIN pg_class one ON one.oid = conrelid JOIN pg_class other ON other.oid = confrelid
      WHERE contype = 'f' AND conrelid <> confrelid`,
  );
  const columnsByTable = Map.groupBy(columns, ({ table }) => table);
  const ordered: Omit<RecordedTable, 'rows'>[] = [];
  while (columnsByTable.size > 0) {
    const free = [...columnsByTable].filter(
      ([table]) => !references.some(({ from, to }) => from === table && columnsByTable.has(to)),
    );
    if (free.length === 0)
      throw new Error(`These tables refer to each other in a circle: ${[...columnsByTable.keys()].join()}.`);
    for (const [name, of] of free) {
      columnsByTable.delete(name);
      ordered.push({ name, columns: of.map((column) => ({ name: column.name, type: column.type })) });
    }
  }
  return ordered;
}

/**
 * Restores the database to its state when the release was recorded. Deletes all other content of the database.
 * @throws Error with the name of the statement or table, if this statement or table does not load
 */
export async function loadDump(source: DataSource, dump: Dump): Promise<void> {
  const runner = source.createQueryRunner();
  const run = async (what: string, statement: string, parameters?: unknown[]) => {
    try {
      await runner.query(statement, parameters);
    } catch (error) {
      throw new Error(`The dump does not load: ${what}: ${messageOf(error)}`, { cause: error });
    }
  };
  try {
    await run('emptying the database', 'DROP SCHEMA public CASCADE; CREATE SCHEMA public');
    for (const statement of dump.schema) await run(`the statement “${statement.slice(0, 200)}”`, statement);
    await run('the rows', 'BEGIN');
    const emptied = dump.tables.toReversed().map(({ name }) => `DELETE FROM "${name}"`);
    await run('the rows of migrations', emptied.join(';'));
    for (const table of dump.tables) await loadRows(run, table);
    for (const { name, value } of dump.sequences)
      await run(`sequence ${name}`, `SELECT setval($1::regclass, $2::bigint)`, [name, value]);
    await run('the rows', 'COMMIT');
  } finally {
    await endOf(runner);
  }
}

type Run = (what: string, statement: string, parameters?: unknown[]) => Promise<void>;

/** Inserts the rows of a table without running its triggers, because the rows already contain the results of the triggers. */
async function loadRows(run: Run, { name, columns, rows }: RecordedTable): Promise<void> {
  if (rows.length === 0) return;
  const names = columns.map((column) => `"${column.name}"`).join(', ');
  await run(`table ${name}`, `ALTER TABLE "${name}" DISABLE TRIGGER USER`);
  await run(
    `table ${name}`,
    `INSERT INTO "${name}" (${names}) OVERRIDING SYSTEM VALUE
     SELECT ${names} FROM jsonb_populate_recordset(null::"${name}", $1::jsonb)`,
    [`[${rows.join(',')}]`],
  );
  await run(`table ${name}`, `ALTER TABLE "${name}" ENABLE TRIGGER USER`);
}

/** Rolls back the transaction that is still open after a failure, and releases the connection. */
async function endOf(runner: QueryRunner): Promise<void> {
  await runner.query('ROLLBACK').catch(() => {});
  await runner.release();
}
