/** Searching a club's list for a text, newest first, at a cost that does not grow with the list (docs/adr/0011-lists-of-a-million.md). */
import type { Queries } from '../database.ts';
import { raw, sql, type Sql } from '../sql.ts';
import type { Id } from '../../../core/ids.ts';
import { windowOf, type PageRequest } from './page.ts';

export interface SearchRules {
  /** A search finds at most so many, the newest; its total counts them. */
  readonly max: number;
  /** How many of the newest records are searched first. */
  readonly probe: number;
  /** So many matches among them make a text common: walking on is then quicker than the index. */
  readonly common: number;
  /** How far a list is walked for a common text. */
  readonly walk: number;
  /** How far it is walked for a text that makes no trigram. */
  readonly walkWithoutIndex: number;
}

export const searchRules: SearchRules = {
  max: 1_000,
  probe: 1_000,
  common: 30,
  walk: 40_000, // where one of 30 matches, 1,000 are found by then
  walkWithoutIndex: 10_000,
};

export interface SearchedList {
  /** The table and its alias in the conditions, such as `students student`. */
  from: string;
  alias: string;
  /** The column of time that the list is ordered by. */
  orderedBy: string;
  /** What the list shows, without the search. */
  conditions: Sql;
  /** The condition of a match. */
  matching: Sql;
}

/** @returns whether a trigram index can look for it: only three letters or digits in a row make a trigram */
function makesTrigrams(text: string): boolean {
  return /[\p{L}\p{N}]{3}/u.test(text);
}

/**
 * Finds the newest records that fit, at most 1,000. What the newest do not answer, because they hold few that fit, a
 * trigram index does. A text that makes no trigram is looked for among the newest 10,000 alone.
 * @param text what is searched, as it was typed
 * @param rules how many are read, and how many found
 * @returns their ids, newest first
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

/** The newest of the list so far, under the list's own alias. */
const newest = (list: SearchedList, length: number) =>
  sql`(SELECT * FROM ${raw(list.from)} WHERE ${list.conditions} ORDER BY ${newestFirst(list)} LIMIT ${length}) AS ${raw(list.alias)}`;

/** @returns the matches among the newest, and whether the search is then complete */
async function probe(db: Queries, list: SearchedList, rules: SearchRules): Promise<{ ids: Id[]; complete: boolean }> {
  const id = raw(`${list.alias}.id`);
  const seen = await db.one<{ looked: number; ids: Id[] }>(
    sql`SELECT count(*)::int AS looked,
               coalesce(array_agg(${id} ORDER BY ${newestFirst(list)}) FILTER (WHERE ${list.matching}), '{}') AS ids
          FROM ${newest(list, rules.probe)}`,
  );
  const { looked, ids } = seen ?? { looked: 0, ids: [] };
  return { ids: ids.slice(0, rules.max), complete: looked < rules.probe || ids.length >= rules.max };
}

/** @returns the matches among so many of the newest; it stops at the bound of a search */
async function walk(db: Queries, list: SearchedList, length: number, max: number): Promise<Id[]> {
  const found = await db.rows<{ id: Id }>(
    sql`SELECT ${raw(list.alias)}.id FROM ${newest(list, length)}
         WHERE ${list.matching} ORDER BY ${newestFirst(list)} LIMIT ${max}`,
  );
  return found.map(({ id }) => id);
}

/** Apart from the order, so that no plan walks the whole list in the hope of a match. */
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

/** @returns those of one page */
export function pageOfIds(ids: readonly Id[], page: PageRequest): readonly Id[] {
  const { limit, offset } = windowOf(page);
  return ids.slice(offset, offset + limit);
}
