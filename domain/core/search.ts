/** Searching a club's list for a text, newest first, at a cost that does not grow with the list (docs/adr/0011-lists-of-a-million.md). */
import type { Transaction } from './database.ts';
import type { Id } from './ids.ts';
import { windowOf, type Page } from './pages.ts';

export const searchRules = {
  /** A search finds as many, the newest; its total counts them. */
  most: 1_000,
  /** The newest records, which are looked at first. */
  probe: 1_000,
  /** As many matches among them, and the text is common: walking on is quicker than an index over what holds it. */
  common: 100,
  /** How far the newest are walked at most. */
  walk: 10_000,
} as const;

export interface SearchedList {
  /** The table and its alias in the conditions, such as `students student`. */
  from: string;
  alias: string;
  /** The column of time that the list is ordered by. */
  orderedBy: string;
  /** What the list shows, without the search. */
  conditions: string;
  /** What a record that fits fulfils. */
  matching: string;
  parameters: readonly unknown[];
}

/** @returns whether a trigram index can look for it: only three letters or digits in a row make a trigram */
function makesTrigrams(text: string): boolean {
  return /[\p{L}\p{N}]{3}/u.test(text);
}

/**
 * Finds the newest records that fit, at most 1,000. What the newest do not answer, because they hold few that fit, a
 * trigram index does. A text that makes no trigram is looked for among the newest 10,000 alone.
 * @param text what is searched, as it was typed
 * @returns their ids, newest first
 */
export async function search(tx: Transaction, text: string, list: SearchedList): Promise<Id[]> {
  const indexed = makesTrigrams(text);
  const probed = await walk(tx, list, searchRules.probe);
  if (probed.complete) return probed.ids;
  if (!indexed || probed.ids.length >= searchRules.common) {
    const walked = await walk(tx, list, searchRules.walk);
    if (!indexed || walked.complete) return walked.ids;
  }
  return findByIndex(tx, list);
}

/** @returns what fits among the newest so many, and whether that is all that a search finds */
async function walk(
  tx: Transaction,
  { from, alias, orderedBy, conditions, matching, parameters }: SearchedList,
  length: number,
): Promise<{ ids: Id[]; complete: boolean }> {
  const newestFirst = `${alias}.${orderedBy} DESC, ${alias}.id DESC`;
  const [seen] = await tx.query<{ looked: number; ids: Id[] }[]>(
    `SELECT count(*)::int AS looked,
            coalesce(array_agg(${alias}.id ORDER BY ${newestFirst}) FILTER (WHERE ${matching}), '{}') AS ids
       FROM (SELECT * FROM ${from} WHERE ${conditions} ORDER BY ${newestFirst} LIMIT ${length}) AS ${alias}`,
    [...parameters],
  );
  const { looked, ids } = seen ?? { looked: 0, ids: [] };
  return { ids: ids.slice(0, searchRules.most), complete: looked < length || ids.length >= searchRules.most };
}

/** Apart from the order, so that no plan walks the whole list in the hope of a match. */
async function findByIndex(
  tx: Transaction,
  { from, alias, orderedBy, conditions, matching, parameters }: SearchedList,
): Promise<Id[]> {
  const found = await tx.query<{ id: Id }[]>(
    `WITH found AS MATERIALIZED (
       SELECT ${alias}.id, ${alias}.${orderedBy} FROM ${from} WHERE ${conditions} AND ${matching})
     SELECT id FROM found ORDER BY ${orderedBy} DESC, id DESC LIMIT ${searchRules.most}`,
    [...parameters],
  );
  return found.map(({ id }) => id);
}

/** @returns those of them that stand on a page */
export function pageOfIds(ids: readonly Id[], page: Page): readonly Id[] {
  const { limit, offset } = windowOf(page);
  return ids.slice(offset, offset + limit);
}
