/**
 * Creates and drops the partitions of tables by time. If a partition is missing, the default partition stores its rows until it is created.
 * A change never waits long for a lock: the next round tries again.
 */
import { leastIdOf, timeOfId } from '../../core/ids.ts';
import { boundLockWaits, isLockTimeout, type Database, type Queries, type Transaction } from './database.ts';
import { raw, sql, type Sql } from './sql.ts';

const dayMs = 86_400_000;

/** Weeks begin on Mondays; all times are in UTC. */
export const spans = {
  day: { ms: dayMs, from: 0 },
  week: { ms: 7 * dayMs, from: 4 * dayMs }, // 1970 began on a Thursday
} as const;

export interface PartitionedTable {
  name: string;
  /** The column has times, or ids that begin with their time. */
  key: { column: string; of: 'ids' | 'times' };
  span: keyof typeof spans;
}

/** In ms since 1970; the upper bound is exclusive. Not for the default partition. */
export interface Partition {
  name: string;
  /** -Infinity for the oldest partition. */
  from: number;
  to: number;
}

/** Partitions exist for at least this time into the future. */
export const aheadMs = 28 * dayMs;
/** In ms. Other transactions wait behind a waiting change. */
const lockWaitMs = 100;
/** In one call. */
const madeAtOnce = 64;

/** @returns the partitions in the order of time, without the default partition */
export async function partitionsOf(db: Queries, { name }: PartitionedTable): Promise<Partition[]> {
  const rows = await db.rows<{ name: string; bound: string }>(
    sql`SELECT part.relname AS name, pg_get_expr(part.relpartbound, part.oid) AS bound
      FROM pg_inherits JOIN pg_class part ON part.oid = inhrelid
     WHERE inhparent = ${name}::regclass`,
  );
  const partitions = rows.flatMap(({ name: part, bound }) => {
    const [, from, to] = /^FOR VALUES FROM \(([^()]+)\) TO \(([^()]+)\)$/.exec(bound) ?? [];
    return from && to ? [{ name: part, from: timeOfBound(from), to: timeOfBound(to) }] : [];
  });
  return partitions.toSorted((earlier, later) => earlier.to - later.to);
}

function timeOfBound(bound: string): number {
  if (bound === 'MINVALUE') return -Infinity;
  const text = bound.slice(1, -1);
  return /^[0-9a-f]{8}-/.test(text)
    ? timeOfId(text)
    : Date.parse(text.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00'));
}

/** The default partition gets the rows for which a partition is missing, and is normally empty. */
const defaultPartitionOf = ({ name }: PartitionedTable): string => `${name}_default`;

/** @returns a statement that counts the rows of the default partitions, up to `most` for each table */
export function countingUnplaced(tables: readonly PartitionedTable[], most: number): Sql {
  const counts = tables.map(
    (table) => `(SELECT count(*) FROM (SELECT FROM ${defaultPartitionOf(table)} LIMIT ${most}) rows)`,
  );
  return raw(`SELECT (${counts.join(' + ')})::int AS value`);
}

export function beginningOf(atMs: number, span: keyof typeof spans): number {
  const { ms, from } = spans[span];
  return Math.floor((atMs - from) / ms) * ms + from;
}

/**
 * Creates the missing partitions of the next four weeks, and the partitions for rows in the default partition. Rows more than four weeks
 * ahead stay there, because their time comes from a wrong clock.
 * @param now Unix milliseconds
 * @returns the numbers of created partitions and of moved rows; 0 if another process makes this change, or a transaction locks the table
 */
export async function preparePartitions(
  db: Database,
  table: PartitionedTable,
  now: number,
): Promise<{ made: number; moved: number }> {
  const { ms } = spans[table.span];
  const first = beginningOf(now, table.span);
  const neededSpans = Array.from(
    { length: Math.floor((now + aheadMs - first) / ms) + 1 },
    (_, nth) => first + nth * ms,
  );
  const spansInDefault = await takenByDefault(db, table, first + neededSpans.length * ms);
  const there = await partitionsOf(db, table);
  const missing = [...new Set([...spansInDefault, ...neededSpans])].filter(
    (from) => !there.some((one) => one.from <= from && from < one.to),
  );
  let made = 0;
  let moved = 0;
  for (const from of missing.slice(0, madeAtOnce)) {
    const rows = await unlessHeld(db, (tx) => makePartition(tx, table, from, from + ms));
    if (rows === undefined) break;
    made += rows.made;
    moved += rows.moved;
  }
  return { made, moved };
}

/** Sends one query for each span, so the cost does not depend on the number of rows. */
async function takenByDefault(db: Queries, table: PartitionedTable, before: number): Promise<number[]> {
  const found: number[] = [];
  for (let from = 0; found.length < madeAtOnce;) {
    const row = await db.one<{ key: string | Date }>(
      raw(`SELECT ${table.key.column} AS key FROM ${defaultPartitionOf(table)}
            WHERE ${table.key.column} >= ${keyText(table, from)} AND ${table.key.column} < ${keyText(table, before)} ORDER BY 1 LIMIT 1`),
    );
    if (!row) break;
    const beginning = beginningOf(typeof row.key === 'string' ? timeOfId(row.key) : row.key.getTime(), table.span);
    found.push(beginning);
    from = beginning + spans[table.span].ms;
  }
  return found;
}

/** @returns SQL text, built only from values of this program */
function keyText({ key }: PartitionedTable, atMs: number): string {
  return key.of === 'ids' ? `'${leastIdOf(atMs)}'` : `'${new Date(atMs).toISOString()}'`;
}

/** @returns the numbers of created partitions and of moved rows */
async function makePartition(
  tx: Transaction,
  table: PartitionedTable,
  from: number,
  to: number,
): Promise<{ made: number; moved: number }> {
  const name = `${table.name}_${new Date(from).toISOString().slice(0, 10).replaceAll('-', '')}`;
  const [known] = await tx.rows<{ there: boolean }>(sql`SELECT to_regclass(${name}) IS NOT NULL AS there`);
  if (known?.there) return { made: 0, moved: 0 }; // Another process has created the partition.
  const [lower, upper] = [keyText(table, from), keyText(table, to)];
  const fallback = defaultPartitionOf(table);
  await tx.run(raw(`LOCK TABLE ${fallback} IN ACCESS EXCLUSIVE MODE`));
  await tx.run(raw(`CREATE TABLE ${name} (LIKE ${table.name} INCLUDING DEFAULTS INCLUDING CONSTRAINTS)`));
  const ofSpan = `${table.key.column} >= ${lower} AND ${table.key.column} < ${upper}`;
  await tx.run(raw(`INSERT INTO ${name} SELECT * FROM ${fallback} WHERE ${ofSpan}`));
  const moved = await tx.run(raw(`DELETE FROM ${fallback} WHERE ${ofSpan}`));
  await tx.run(raw(`ALTER TABLE ${table.name} ATTACH PARTITION ${name} FOR VALUES FROM (${lower}) TO (${upper})`));
  return { made: 1, moved };
}

/** @returns false if another transaction locks one of the tables */
export async function dropPartitions(db: Database, names: readonly string[]): Promise<boolean> {
  const dropped = await unlessHeld(db, async (tx) => {
    await tx.run(raw(`DROP TABLE IF EXISTS ${names.join(', ')}`));
    return true;
  });
  return dropped === true;
}

/** The key of the advisory lock: one process at a time changes partitions. */
const changing = 4_281_965;

/** @returns undefined if another process changes partitions, or a lock was not free in time; then nothing was changed */
async function unlessHeld<T>(db: Database, change: (tx: Transaction) => Promise<T>): Promise<T | undefined> {
  try {
    return await db.transaction(async (tx) => {
      const [lock] = await tx.rows<{ free: boolean }>(sql`SELECT pg_try_advisory_xact_lock(${changing}) AS free`);
      if (!lock?.free) return undefined;
      await boundLockWaits(tx, lockWaitMs);
      return change(tx);
    });
  } catch (error) {
    if (isLockTimeout(error)) return undefined;
    throw error;
  }
}
