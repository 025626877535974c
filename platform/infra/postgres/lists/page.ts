/** Reads lists. All lists are read in this way: one page of rows, and the total number of rows. */
import type { Queries } from '../database.ts';
import { sql, type Columns, type Sql } from '../sql.ts';

export interface PageRequest {
  /** From 1. */
  page: number;
  /** 1 to 100. */
  page_size: number;
}

export interface Page<T> {
  rows: T[];
  total: number;
}

/** @returns LIMIT and OFFSET */
export function windowOf({ page, page_size: size }: PageRequest): { limit: number; offset: number } {
  return { limit: size, offset: (page - 1) * size };
}

export interface PagedList<Row> {
  columns: Columns<Row>;
  /** FROM and WHERE. */
  from: Sql;
  /** The order of the rows. It must be total, so that no two rows have the same place. */
  orderBy: Sql;
  /** FROM and WHERE of the count, if the page joins tables that do not change the number of rows. */
  counted?: Sql;
  /** The number of rows, if a tally or the caller knows it; otherwise the rows are counted. */
  total?: number | (() => Promise<number>);
}

/** Reads one page of the list. Also counts the list, unless the page itself shows how long the list is. */
export async function listPage<Row>(
  db: Queries,
  request: PageRequest,
  { columns, from, orderBy, counted = from, total }: PagedList<Row>,
): Promise<Page<Row>> {
  const { limit, offset } = windowOf(request);
  const rows = await db.rows<Row>(sql`SELECT ${columns} ${from} ORDER BY ${orderBy} LIMIT ${limit} OFFSET ${offset}`);
  if (total !== undefined) return { rows, total: typeof total === 'number' ? total : await total() };
  const endsHere = rows.length < limit && (rows.length > 0 || offset === 0);
  return { rows, total: endsHere ? offset + rows.length : await count(db, counted) };
}

async function count(db: Queries, from: Sql): Promise<number> {
  const counted = await db.one<{ total: number }>(sql`SELECT count(*)::int AS total ${from}`);
  return counted?.total ?? 0;
}
