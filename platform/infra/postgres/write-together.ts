/** Rows of several askers in one statement, where a row that Postgres refuses must cost the others nothing. */
import { isRefusal } from './errors.ts';

/** What became of an item: the statement's result for it, or why Postgres refuses it. */
export type Written<Result> = { result: Result } | { error: unknown };

/**
 * Writes all items with one statement. One that is refused is halved, down to the item at fault.
 * @param write gives the results in the order of its items
 * @returns for each item, in their order
 * @throws what ends the statement for any other reason
 */
export async function writeTogether<Item, Result>(
  items: readonly Item[],
  write: (items: readonly Item[]) => Promise<readonly Result[]>,
): Promise<Written<Result>[]> {
  try {
    return (await write(items)).map((result) => ({ result }));
  } catch (error) {
    if (!isRefusal(error)) throw error;
    if (items.length === 1) return [{ error }];
    const half = Math.ceil(items.length / 2);
    const first = await writeTogether(items.slice(0, half), write);
    return [...first, ...(await writeTogether(items.slice(half), write))];
  }
}
