/** The order of a list as typed keys. ORDER BY, the keys in a cursor, and the rows after a cursor follow from it (CUR-2). */
import { createHash } from 'node:crypto';
import { list, raw, sql, type Sql } from '../sql.ts';

/** The type of a key in Postgres. The text of a key is cast to it, so that an index of the column serves the comparison. */
export type KeyType = 'boolean' | 'bytea' | 'bigint' | 'date' | 'int' | 'text' | 'timestamptz' | 'uuid';

/** One key of an order. */
export interface OrderKey {
  /** An expression from our own code that is never null, such as `student.created_at`. A text is compared in the column's own collation. */
  readonly column: string;
  readonly type: KeyType;
  readonly descending: boolean;
}

/** The keys of a list, the most important first. Together they must identify a row. */
export type OrderKeys = readonly [OrderKey, ...OrderKey[]];

/** The keys of a row as Postgres prints them. A JavaScript Date would lose the microseconds of a time. */
export type PrintedKeys = readonly string[];

export const ascending = (column: string, type: KeyType): OrderKey => ({ column, type, descending: false });
export const descending = (column: string, type: KeyType): OrderKey => ({ column, type, descending: true });

/**
 * @param alias the alias of the table in the statement; empty without one
 * @param time the column of the time
 * @returns the usual order: the newest row first, rows of the same time by id
 */
export function newestFirst(alias = '', time = 'created_at'): OrderKeys {
  const table = alias === '' ? '' : `${alias}.`;
  return [descending(`${table}${time}`, 'timestamptz'), descending(`${table}id`, 'uuid')];
}

/** @returns the expressions of ORDER BY */
export const orderBy = (keys: OrderKeys): Sql =>
  list(keys.map(({ column, descending: down }) => raw(`${column}${down ? ' DESC' : ''}`)));

/** @returns an expression for the keys of a row, each as text */
export const printing = (keys: OrderKeys): Sql =>
  raw(`ARRAY[${keys.map(({ column }) => `(${column})::text`).join(', ')}]`);

/** @returns 8 characters that change with the columns, types and directions of an order */
export const nameOf = (keys: OrderKeys): string =>
  createHash('sha256').update(JSON.stringify(keys)).digest('base64url').slice(0, 8);

/**
 * @param values the printed keys of a row, one for each key
 * @returns the condition that a row comes after the row of the values. Keys in one direction are compared as a row, which one range of an
 *   index serves. If the directions differ, the leading keys limit the range
 */
export function rowsAfter(keys: OrderKeys, values: PrintedKeys): Sql {
  const turn = keys.findIndex(({ descending: down }) => down !== keys[0].descending);
  const leading = turn === -1 ? keys : keys.slice(0, turn);
  const [following, ...others] = keys.slice(leading.length);
  const columns = raw(`(${leading.map(({ column }) => `(${column})`).join(', ')})`);
  const bounds = sql`(${list(leading.map(({ type }, index) => sql`${values[index]}::${raw(type)}`))})`;
  const beyond = raw(keys[0].descending ? '<' : '>');
  if (!following) return sql`${columns} ${beyond} ${bounds}`;
  const next = rowsAfter([following, ...others], values.slice(leading.length));
  return sql`(${columns} ${beyond}= ${bounds} AND (${columns} ${beyond} ${bounds} OR ${next}))`;
}
