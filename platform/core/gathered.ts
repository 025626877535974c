/** Many askers, few calls: what is asked while one call is under way goes into the next one. */

interface Asked<Item, Result> {
  item: Item;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

export interface GatheringOptions {
  /** Items in one call, at most: the others go into the next. No bound if absent. */
  most?: number;
  /**
   * Calls under way together, at most; 1 if absent. With more, a call that lasts longer than `holdsOthersMs` no longer
   * holds the next one: a connection that stands still without an error then delays its own askers alone.
   */
  atOnce?: number;
  /** How long the next call waits for the one under way; {@link usuallyHoldsMs} if absent. */
  holdsOthersMs?: number;
}

/** In milliseconds: far longer than a call takes that gets on. */
export const usuallyHoldsMs = 100;

/**
 * @param work one call for all items that were asked for since the last one; it gives their results in the same order
 * @returns asks for one item, and rejects as its call does
 */
export function gathered<Item, Result>(
  work: (items: readonly Item[]) => Promise<readonly Result[]>,
  { most = Infinity, atOnce = 1, holdsOthersMs = usuallyHoldsMs }: GatheringOptions = {},
): (item: Item) => Promise<Result> {
  let waiting: Asked<Item, Result>[] = [];
  let underWay = 0;
  /** The call that the next one waits for. */
  let holder: symbol | undefined;
  const mayBegin = () => holder === undefined && underWay < atOnce;
  const begin = () => {
    if (waiting.length > 0 && mayBegin()) void takeUp();
  };
  const takeUp = async () => {
    const call = Symbol('call');
    const together = waiting.slice(0, most);
    waiting = waiting.slice(most);
    underWay += 1;
    holder = call;
    const goOn = () => {
      if (holder === call) holder = undefined;
      begin();
    };
    const patience = atOnce > 1 ? setTimeout(goOn, holdsOthersMs) : undefined;
    try {
      const results = await work(together.map(({ item }) => item));
      for (const [place, { resolve }] of together.entries()) resolve(results[place] as Result);
    } catch (error) {
      for (const { reject } of together) reject(error);
    }
    clearTimeout(patience);
    underWay -= 1;
    goOn();
  };
  return (item) =>
    new Promise<Result>((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      // Not at once: those who ask in the same turn go together.
      if (waiting.length === 1 && mayBegin()) setImmediate(begin);
    });
}
