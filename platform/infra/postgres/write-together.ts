/** Writes rows of several callers in one statement. If Postgres refuses a row, the other rows are still written. */
import { isRefusal } from './errors.ts';

export type Written<Result> = { result: Result } | { error: unknown };

/**
 * If Postgres refuses the batch, it is split in halves until the faulty item is alone.
 * @param write returns the results in the order of its items
 * @returns the outcomes in the order of the items
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
