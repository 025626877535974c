/** Many askers, few calls: what is asked while one call is under way goes into the next one. */

interface Asked<Item, Result> {
  item: Item;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

/**
 * @param work one call for all items that were asked for since the last one; it gives their results in the same order
 * @param most items in one call: the others go into the next
 * @returns asks for one item, and rejects as its call does
 */
export function gathered<Item, Result>(
  work: (items: readonly Item[]) => Promise<readonly Result[]>,
  most = Infinity,
): (item: Item) => Promise<Result> {
  let waiting: Asked<Item, Result>[] = [];
  let isUnderWay = false;
  const takeUp = async () => {
    isUnderWay = true;
    while (waiting.length > 0) {
      const together = waiting.slice(0, most);
      waiting = waiting.slice(most);
      try {
        const results = await work(together.map(({ item }) => item));
        for (const [place, { resolve }] of together.entries()) resolve(results[place] as Result);
      } catch (error) {
        for (const { reject } of together) reject(error);
      }
    }
    isUnderWay = false;
  };
  return (item) =>
    new Promise<Result>((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      // Not at once: those who ask in the same turn go together.
      if (waiting.length === 1 && !isUnderWay) setImmediate(() => void takeUp());
    });
}
