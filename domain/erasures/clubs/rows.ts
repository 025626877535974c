/**
 * Erases the rows of a club in batches, children before parents, each batch in a transaction of its own (ERS-11). Cascades would be one
 * transaction for a club of a million students, so no batch relies on them.
 */
import { sqlStateOf } from '../../../platform/infra/postgres/errors.ts';
import type { Database, Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { all, list, raw, sql, type Sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { ClubRows } from '../../questions.ts';
import { addCount } from './counts.ts';
import type { ErasureNode, WayToRows } from './order.policy.ts';
import { clubTables, type ClubTables, type ErasedTable } from './tables.ts';

export const rowRules = {
  /** The maximum number of rows that one transaction erases in a table. */
  rowsPerBatch: 1_000,
  /** If a batch takes longer, the next batches of its table are smaller, so that no transaction lasts a second. In milliseconds. */
  slowMs: 400,
  fewestRows: 50,
  /** The keys of parents that one statement reads. */
  keysPerRead: 10_000,
  /** Rows that arrive between the erasure of children and of their parents cause this number of further tries at most. */
  tries: 4,
} as const;

export interface RowDeps {
  db: Database;
  /** The answers of all contexts. */
  clubRows: readonly ClubRows[];
  /** A point where a test can stop the process. */
  failpoint?: (name: string) => Promise<void>;
}

export interface ErasedClub {
  clubId: Id;
  /** The erasure that counts the rows; null if the rows are not counted. */
  erasureId: Id | null;
}

/** A row arrived below rows that the transaction was to erase. Nothing was erased in the transaction. */
class RowArrived extends Error {
  override name = 'RowArrived';
}

/** A row of the club has a child in another club. Nothing was erased in the transaction. */
class RowOfAnotherClub extends Error {
  override name = 'RowOfAnotherClub';
  code = 'row_of_another_club';
}

/**
 * Erases rows of the club, the row of the club last, for about this time. Repeated and simultaneous calls do no harm.
 * @param budgetMs in milliseconds
 * @returns the number of erased rows, and the table whose rows are next. If `next` is absent, the call has looked at every table. If it then
 * has erased nothing, the club has no rows
 * @throws RowOfAnotherClub
 */
export async function eraseClubRows(
  deps: RowDeps,
  club: ErasedClub,
  budgetMs: number,
): Promise<{ erased: number; next?: string }> {
  const ends = performance.now() + budgetMs;
  const eraser = createEraser(deps, club);
  let sum = 0;
  for await (const { table, erased } of eraser) {
    sum += erased;
    if (performance.now() > ends) return { erased: sum, next: table };
  }
  return { erased: sum };
}

interface Batch {
  table: string;
  erased: number;
}

interface Erasing extends RowDeps, ErasedClub {
  tables: ClubTables;
  /** The number of rows of the next batch, of tables whose batches were slow. */
  sizes: Map<string, number>;
  /** Tables whose last batch had rows. The next page of their parents probably has rows, too. */
  filled: Set<string>;
}

async function* createEraser(deps: RowDeps, club: ErasedClub): AsyncGenerator<Batch> {
  const erasing: Erasing = {
    ...deps,
    ...club,
    tables: clubTables(deps.db.source, deps.clubRows),
    sizes: new Map(),
    filled: new Set(),
  };
  for (const node of erasing.tables.order)
    yield* node.by === 'scan' ? eraseByScan(erasing, node) : eraseNode(erasing, node, ofClub(erasing, node.by));
  yield await eraseBatch(erasing, erasing.tables.club, [], sql`row.id = ${club.clubId}`);
}

/** The condition for the rows of a table that are found by the club. */
function ofClub({ clubId }: ErasedClub, by: WayToRows): Sql {
  const own = sql`row.club_id = ${clubId}`;
  return typeof by === 'object' && 'empty' in by ? sql`row.${raw(by.empty)} IS NULL AND ${own}` : own;
}

/** Erases the rows of a table, page by page, each page after the rows below it. */
async function* eraseNode(erasing: Erasing, node: ErasureNode, rows: Sql): AsyncGenerator<Batch> {
  const table = erasing.tables.tableOf(node.table);
  if (node.children.length === 0) return yield* eraseLeaves(erasing, node, table, rows);
  for (;;) {
    const keys = await readKeys(erasing.db, table, all([rows, ...unreferred(table, node.ownReferences)]));
    if (keys.length === 0) return;
    for (let start = 0; start < keys.length; start += rowRules.rowsPerBatch)
      yield* erasePage(erasing, node, table, keys.slice(start, start + rowRules.rowsPerBatch));
  }
}

async function* eraseLeaves(erasing: Erasing, node: ErasureNode, table: ErasedTable, rows: Sql): AsyncGenerator<Batch> {
  // Most tables are empty in most passes, and an empty table needs no transaction.
  const anyRow =
    erasing.filled.has(table.name) ||
    (await erasing.db.one(sql`SELECT 1 FROM ${raw(table.name)} row WHERE ${rows} LIMIT 1`));
  if (!anyRow) return;
  for (;;) {
    const size = sizeOf(erasing, table);
    const batch = await eraseBatch(erasing, table, node.ownReferences, rows);
    yield batch;
    if (batch.erased > 0) erasing.filled.add(table.name);
    else erasing.filled.delete(table.name);
    // A row that others refer to is erased after them, so a batch of such a table may be small before the end.
    if (batch.erased === 0 || (batch.erased < size && node.ownReferences.length === 0)) return;
  }
}

/** Erases the rows below a page, and then the page. A row that arrives in between is erased at the next try. */
async function* erasePage(
  erasing: Erasing,
  node: ErasureNode,
  table: ErasedTable,
  page: readonly unknown[],
): AsyncGenerator<Batch> {
  for (let tries = 1; ; tries++) {
    for (const child of node.children) yield* eraseNode(erasing, child, below(child, table, page));
    try {
      for (let rest = page; rest.length > 0;) {
        const keys = rest.slice(0, sizeOf(erasing, table));
        yield await eraseBatch(erasing, table, [], isOneOf(`row.${keyOf(table).column}`, table, keys), (tx) =>
          requireNoneBelow(tx, node, table, keys),
        );
        rest = rest.slice(keys.length);
      }
      return;
    } catch (error) {
      const hasArrived = error instanceof RowArrived || sqlStateOf(error) === foreignKeyViolation;
      if (tries === rowRules.tries || !hasArrived) throw error;
    }
  }
}

const foreignKeyViolation = '23503';

/**
 * Locks a page, and looks for rows below it that no foreign key protects. Each insertion of such a row first locks its parent, so none can
 * arrive afterwards.
 * @throws RowArrived
 */
async function requireNoneBelow(
  tx: Transaction,
  { children }: ErasureNode,
  table: ErasedTable,
  page: readonly unknown[],
): Promise<void> {
  const arriving = children.filter(({ mayArrive }) => mayArrive);
  if (arriving.length === 0) return;
  const key = `row.${keyOf(table).column}`;
  await tx.run(
    sql`SELECT FROM ${raw(table.name)} row WHERE ${isOneOf(key, table, page)} ORDER BY ${raw(key)} FOR UPDATE`,
  );
  for (const child of arriving) {
    const arrived = await tx.one(sql`SELECT 1 FROM ${raw(child.table)} row WHERE ${below(child, table, page)} LIMIT 1`);
    if (arrived) throw new RowArrived(`A row of ${child.table} has arrived.`);
  }
}

/** Reads a whole table in the order of its key. A page without rows of the club costs no transaction. */
async function* eraseByScan(erasing: Erasing, node: ErasureNode): AsyncGenerator<Batch> {
  const table = erasing.tables.tableOf(node.table);
  const { column } = keyOf(table);
  let after: unknown;
  for (;;) {
    const beyond = after === undefined ? sql`true` : sql`row.${raw(column)} > ${after}`;
    const read = await erasing.db.rows<{ key: unknown; own: boolean | null }>(sql`
      SELECT row.${raw(column)} AS key, row.club_id = ${erasing.clubId} AS own FROM ${raw(table.name)} row
       WHERE ${beyond} ORDER BY row.${raw(column)} LIMIT ${rowRules.keysPerRead}`);
    const keys = read.filter(({ own }) => own === true).map(({ key }) => key);
    for (let start = 0; start < keys.length; start += rowRules.rowsPerBatch)
      yield* erasePage(erasing, node, table, keys.slice(start, start + rowRules.rowsPerBatch));
    if (read.length < rowRules.keysPerRead) return;
    after = read.at(-1)?.key;
  }
}

/** @throws Error if the table has a key of several columns, so no other table can be found by its pages */
function keyOf({ name, keys: [key, ...others] }: ErasedTable): { column: string; type: string } {
  if (key === undefined || others.length > 0) throw new Error(`The key of ${name} is not one column.`);
  return key;
}

async function readKeys(db: Queries, table: ErasedTable, rows: Sql): Promise<unknown[]> {
  const { column } = keyOf(table);
  const read = await db.rows<{ key: unknown }>(
    sql`SELECT row.${raw(column)} AS key FROM ${raw(table.name)} row WHERE ${rows} LIMIT ${rowRules.keysPerRead}`,
  );
  return read.map(({ key }) => key);
}

function below({ by }: ErasureNode, parent: ErasedTable, page: readonly unknown[]): Sql {
  if (typeof by === 'string' || !('parent' in by)) throw new Error(`The rows are not found by ${parent.name}.`);
  return isOneOf(`row.${by.column}`, parent, page);
}

const isOneOf = (column: string, parent: ErasedTable, page: readonly unknown[]): Sql =>
  sql`${raw(column)} = ANY (${page}::${raw(keyOf(parent).type)}[])`;

/** No row of the same table refers to the row. */
function unreferred(table: ErasedTable, columns: readonly string[]): Sql[] {
  return columns.map(
    (column) =>
      sql`NOT EXISTS (SELECT FROM ${raw(table.name)} other WHERE other.${raw(column)} = row.${raw(keyOf(table).column)})`,
  );
}

const sizeOf = ({ sizes }: Erasing, { name }: ErasedTable): number => sizes.get(name) ?? rowRules.rowsPerBatch;

/** Erases and counts one batch in one transaction, so that the counts are exact after a crash, too. */
async function eraseBatch(
  erasing: Erasing,
  table: ErasedTable,
  ownReferences: readonly string[],
  rows: Sql,
  prepare: (tx: Transaction) => Promise<void> = async () => {},
): Promise<Batch> {
  const { db, clubId, erasureId, failpoint } = erasing;
  const size = sizeOf(erasing, table);
  const startedAt = performance.now();
  const condition = all([rows, ...unreferred(table, ownReferences)]);
  const erased = await db.transaction(async (tx) => {
    await prepareErasure(tx);
    await prepare(tx);
    const result = await tx.one<{ count: number; isForeign: boolean }>(erasingRows(table, condition, { clubId, size }));
    if (result?.isForeign)
      throw new RowOfAnotherClub(`A row of ${table.name} belongs to another club than its parent.`);
    const count = result?.count ?? 0;
    if (count > 0 && erasureId !== null) await addCount(tx, erasureId, 'tables', table.name, count);
    if (count > 0) await failpoint?.('erased_rows_written');
    return count;
  });
  if (erased > 0) await failpoint?.('erased_rows_recorded');
  if (performance.now() - startedAt > rowRules.slowMs && erased > 0)
    erasing.sizes.set(table.name, Math.max(rowRules.fewestRows, Math.floor(size / 2)));
  return { table: table.name, erased };
}

/**
 * Postgres may not read whole tables, whatever their statistics say. Triggers that keep tallies of deleted rows do nothing, because the
 * tallies are erased too (entities/migrations/1795786200000-erasure-of-clubs.ts).
 */
async function prepareErasure(tx: Transaction): Promise<void> {
  await tx.run(sql`SELECT set_config('club.erases', 'on', true), set_config('enable_seqscan', 'off', true),
                          set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`);
}

/** Finds the rows by their keys, because a partitioned table has no other way to one row. */
function erasingRows(table: ErasedTable, rows: Sql, { clubId, size }: { clubId: Id; size: number }): Sql {
  const keys = table.keys.map(({ column }) => raw(column));
  const isRow = all(keys.map((key) => sql`erased.${key} = page.${key}`));
  // A row without a club was found by its parent, such as the body of a test message.
  const isForeign = table.hasClub ? sql`erased.club_id <> ${clubId}` : sql`false`;
  return sql`WITH gone AS (
      DELETE FROM ${raw(table.name)} erased
       USING (SELECT ${list(keys.map((key) => sql`row.${key}`))} FROM ${raw(table.name)} row WHERE ${rows} LIMIT ${size}) page
       WHERE ${isRow} RETURNING ${isForeign} AS is_foreign)
    SELECT count(*)::int AS count, coalesce(bool_or(is_foreign), false) AS "isForeign" FROM gone`;
}
