/** Writes rows of several callers in one statement. If Postgres refuses a row, the other rows are still written. */
import { isRefusal } from './errors.ts';

/** The outcome of an item: the result of the statement for this item, or the reason why Postgres refused the item. */
export type Written<Result> = { result: Result } | { error: unknown };

/**
 * Writes all items in one statement. If Postgres refuses the batch, the batch is split in halves until the faulty item is alone.
 * @param write the statement, which returns the results in the order of its items
 * @returns the outcome of each item, in the order of the items
 * @throws the error of a statement that fails for any other reason
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
