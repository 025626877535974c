/** Reads lists. All lists are read in this way: one page of rows, and the total number of rows. */
import type { Queries } from '../database.ts';
import { raw, sql, Sql, type Columns } from '../sql.ts';
import type { ListPosition } from './cursor.ts';
import { orderBy as orderOf, printing, rowsAfter, type OrderKeys, type PrintedKeys } from './order.ts';

/** The page that a caller asks for: by its number, or after the row of a cursor. */
export interface PageRequest {
  /** From 1. It is 1 if the request has a cursor. */
  page: number;
  /** 1 to 100. */
  page_size: number;
  /** The place of the caller in the list. Absent if no caller goes on to the next page, as in the service's own programs. */
  cursor?: ListPosition;
}

export interface Page<T> {
  rows: T[];
  total: number;
  /** The cursor of the following page. Undefined on the last page, and for lists without cursors. */
  next: string | undefined;
}

/** @returns LIMIT and OFFSET */
export function windowOf({ page, page_size: size }: PageRequest): { limit: number; offset: number } {
  return { limit: size, offset: (page - 1) * size };
}

/** A row with the printed keys of its order, which the callers of a list never see. */
type Keyed<Row> = Row & { cursorKeys: string[] };

/** How a statement reads one page. */
export interface Window {
  /** The condition of the rows after the cursor; undefined for a page by number. */
  after: Sql | undefined;
  /** One row more than the page, which shows whether another page follows. */
  limit: number;
  offset: number;
}

/** @throws DomainError invalid_cursor if the cursor was made for another order */
export function windowAfter(request: PageRequest, keys: OrderKeys): Window {
  const { limit, offset } = windowOf(request);
  const printed = request.cursor?.after(keys);
  return { after: printed && rowsAfter(keys, printed), limit: limit + 1, offset };
}

/** @returns a column with the printed keys of the order, for {@link cutPage} */
export const printedKeys = (keys: OrderKeys): Sql => sql`${printing(keys)} AS "cursorKeys"`;

/**
 * @param read the rows of a statement by {@link windowAfter}, with {@link printedKeys}
 * @returns the rows of the page, and the cursor of the following page
 */
export function cutPage<Row>(
  request: PageRequest,
  keys: OrderKeys,
  read: readonly Keyed<Row>[],
): Pick<Page<Row>, 'rows' | 'next'> {
  const rows = read.slice(0, request.page_size);
  const last: PrintedKeys | undefined = read.length > rows.length ? rows.at(-1)?.cursorKeys : undefined;
  return {
    rows: rows.map(({ cursorKeys: _cursorKeys, ...row }) => row as unknown as Row),
    next: last && request.cursor?.following(keys, last),
  };
}

export interface PagedList<Row> {
  columns: Columns<Row>;
  /** FROM and WHERE. A cursor adds its condition by AND. */
  from: Sql;
  /** The order of the rows. It must be total, so that no two rows have the same place. A list that is ordered by SQL has no cursors. */
  orderBy: OrderKeys | Sql;
  /** FROM and WHERE of the count, if the page joins tables that do not change the number of rows. */
  counted?: Sql;
  /** The column with the time of a record's last change, such as `course.changed_at`. Absent for lists without `updated_since` (CUR-6). */
  changedAt?: string;
  /** The number of rows, if a tally or the caller knows it; otherwise the rows are counted. */
  total?: number | (() => Promise<number>);
}

/**
 * Reads one page of the list. Also counts the list, unless the page itself shows how long the list is. A page after a cursor never shows
 * this.
 * @throws DomainError invalid_cursor
 */
export async function listPage<Row>(db: Queries, request: PageRequest, list: PagedList<Row>): Promise<Page<Row>> {
  const { columns, from, orderBy, counted = from, total } = changedRecords(list, request.cursor?.changedSince);
  if (orderBy instanceof Sql) {
    const read = await readByNumber<Row>(db, request, { columns, from, orderBy });
    return finish(db, read, { counted, total });
  }
  const read = await readByKeys<Row>(db, request, { columns, from, keys: orderBy });
  return finish(db, read, { counted, total });
}

/** @throws Error if a list without times of changes is asked for changes, which the contract does not allow */
function changedRecords<Row>(list: PagedList<Row>, since: Date | undefined): PagedList<Row> {
  const { columns, from, counted, orderBy, changedAt } = list;
  if (since === undefined) return list;
  if (changedAt === undefined) throw new Error('The list has updated_since in the contract, but no column of changes.');
  const condition = sql` AND ${raw(changedAt)} >= ${since}`;
  return {
    columns,
    orderBy,
    from: sql`${from}${condition}`,
    ...(counted && { counted: sql`${counted}${condition}` }),
  };
}

async function finish<Row>(
  db: Queries,
  { length, ...page }: Read<Row>,
  { counted, total }: { counted: Sql; total: PagedList<Row>['total'] | undefined },
): Promise<Page<Row>> {
  if (total !== undefined) return { ...page, total: typeof total === 'number' ? total : await total() };
  return { ...page, total: length ?? (await count(db, counted)) };
}

async function count(db: Queries, from: Sql): Promise<number> {
  const counted = await db.one<{ total: number }>(sql`SELECT count(*)::int AS total ${from}`);
  return counted?.total ?? 0;
}

/** The rows of a page, and the number of rows of the whole list if the page shows it. */
type Read<Row> = Pick<Page<Row>, 'rows' | 'next'> & { length: number | undefined };

async function readByKeys<Row>(
  db: Queries,
  request: PageRequest,
  { columns, from, keys }: { columns: Columns<Row>; from: Sql; keys: OrderKeys },
): Promise<Read<Row>> {
  const { after, limit, offset } = windowAfter(request, keys);
  const condition = after ? sql` AND ${after}` : sql``;
  const read = await db.rows<Keyed<Row>>(
    sql`SELECT ${columns}, ${printedKeys(keys)} ${from}${condition} ORDER BY ${orderOf(keys)} LIMIT ${limit} OFFSET ${offset}`,
  );
  const length = after ? undefined : shownLength(read.length, limit, offset);
  return { ...cutPage<Row>(request, keys, read), length };
}

async function readByNumber<Row>(
  db: Queries,
  request: PageRequest,
  { columns, from, orderBy }: { columns: Columns<Row>; from: Sql; orderBy: Sql },
): Promise<Read<Row>> {
  const { limit, offset } = windowOf(request);
  const rows = await db.rows<Row>(sql`SELECT ${columns} ${from} ORDER BY ${orderBy} LIMIT ${limit} OFFSET ${offset}`);
  return { rows, next: undefined, length: shownLength(rows.length, limit, offset) };
}

/** @returns the number of rows of the list, if fewer rows than the limit show its end */
function shownLength(read: number, limit: number, offset: number): number | undefined {
  return read < limit && (read > 0 || offset === 0) ? offset + read : undefined;
}
