/** Searches a club's list for a text, newest first, at a cost that does not grow with the list (docs/adr/0011-lists-of-a-million.md). */
import type { Queries } from '../database.ts';
import { raw, sql, type Sql } from '../sql.ts';
import type { Id } from '../../../core/ids.ts';
import { listPage, windowOf, type Page, type PagedList, type PageRequest } from './page.ts';

export interface SearchRules {
  /** A search finds at most this number of records, and prefers the newest. Its total counts only the found records. */
  readonly max: number;
  /** The number of the newest records that a search reads first. */
  readonly probe: number;
  /**
   * If at least this number of the newest records match, the text is common. It is then faster to read more of the newest records than to
   * use the index.
   */
  readonly common: number;
  /** The number of records that a search reads if the text is common. */
  readonly walk: number;
  /** The number of records that are read for a text without a trigram. */
  readonly walkWithoutIndex: number;
}

export const searchRules: SearchRules = {
  max: 1_000,
  probe: 1_000,
  common: 30,
  walk: 40_000, // if one of 30 records matches, these records contain more than 1,000 matches
  walkWithoutIndex: 10_000,
};

export interface SearchedList {
  /** The table and its alias in the conditions, such as `students student`. */
  from: string;
  alias: string;
  /** The column of time that the list is ordered by. */
  orderedBy: string;
  /** The conditions of the list without the search. */
  conditions: Sql;
  /** The condition of a match. */
  matching: Sql;
}

/** @returns whether a trigram index can find the text, which needs three letters or digits in a row */
function makesTrigrams(text: string): boolean {
  return /[\p{L}\p{N}]{3}/u.test(text);
}

/**
 * Finds the newest records that match, at most 1,000. If the newest records contain too few matches, a trigram index finds the rest. A
 * text without a trigram is searched only among the newest 10,000.
 * @param text the search text as typed
 * @param rules the limits of the records that are read and found
 * @returns the ids of the found records, newest first
 */
export async function search(
  db: Queries,
  text: string,
  list: SearchedList,
  rules: SearchRules = searchRules,
): Promise<Id[]> {
  const probed = await probe(db, list, rules);
  if (probed.complete) return probed.ids;
  if (!makesTrigrams(text)) return walk(db, list, rules.walkWithoutIndex, rules.max);
  if (probed.ids.length >= rules.common) {
    const ids = await walk(db, list, rules.walk, rules.max);
    if (ids.length === rules.max) return ids;
  }
  return findByIndex(db, list, rules.max);
}

const newestFirst = ({ alias, orderedBy }: SearchedList) => raw(`${alias}.${orderedBy} DESC, ${alias}.id DESC`);

/**
 * The newest records of the list, as a subquery. The subquery has the list's alias, so that the list's conditions also work on the
 * subquery.
 */
const newest = (list: SearchedList, length: number) =>
  sql`(SELECT * FROM ${raw(list.from)} WHERE ${list.conditions} ORDER BY ${newestFirst(list)} LIMIT ${length}) AS ${raw(list.alias)}`;

/** @returns the matches among the newest records, and whether these are all matches that the search must find */
async function probe(db: Queries, list: SearchedList, rules: SearchRules): Promise<{ ids: Id[]; complete: boolean }> {
  const id = raw(`${list.alias}.id`);
  const probed = await db.one<{ readCount: number; ids: Id[] }>(
    sql`SELECT count(*)::int AS "readCount",
               coalesce(array_agg(${id} ORDER BY ${newestFirst(list)}) FILTER (WHERE ${list.matching}), '{}') AS ids
          FROM ${newest(list, rules.probe)}`,
  );
  const { readCount, ids } = probed ?? { readCount: 0, ids: [] };
  return { ids: ids.slice(0, rules.max), complete: readCount < rules.probe || ids.length >= rules.max };
}

/** @returns the matches among the newest records; it stops at `max` matches */
async function walk(db: Queries, list: SearchedList, length: number, max: number): Promise<Id[]> {
  const found = await db.rows<{ id: Id }>(
    sql`SELECT ${raw(list.alias)}.id FROM ${newest(list, length)}
         WHERE ${list.matching} ORDER BY ${newestFirst(list)} LIMIT ${max}`,
  );
  return found.map(({ id }) => id);
}

/**
 * An outer query sorts the matches. Without the outer query, Postgres may expect to find a match early, and then read the whole list in the
 * requested order.
 */
async function findByIndex(db: Queries, list: SearchedList, max: number): Promise<Id[]> {
  const alias = raw(list.alias);
  const orderedBy = raw(list.orderedBy);
  const found = await db.rows<{ id: Id }>(
    sql`WITH found AS MATERIALIZED (
          SELECT ${alias}.id, ${alias}.${orderedBy} FROM ${raw(list.from)} WHERE ${list.conditions} AND ${list.matching})
        SELECT id FROM found ORDER BY ${orderedBy} DESC, id DESC LIMIT ${max}`,
  );
  return found.map(({ id }) => id);
}

/**
 * @param ids the found records, in the order of the list
 * @param listOf the columns, FROM and WHERE, and the order of records with given ids
 * @returns one page of the found records. A page by number reads only its own records; a page after a cursor chooses from all of them,
 *   because the record of the cursor may have been removed. A page of changes counts and chooses from all of them, too
 */
export async function pageOfFound<Row>(
  db: Queries,
  request: PageRequest,
  ids: readonly Id[],
  listOf: (ids: readonly Id[]) => Pick<PagedList<Row>, 'columns' | 'from' | 'orderBy' | 'changedAt'>,
): Promise<Page<Row>> {
  if (request.cursor?.changedSince) return listPage<Row>(db, request, listOf(ids));
  const { limit, offset } = windowOf(request);
  const read = request.cursor?.isAfter ? ids : ids.slice(offset, offset + limit + 1);
  return listPage<Row>(db, { ...request, page: 1 }, { ...listOf(read), total: ids.length });
}
