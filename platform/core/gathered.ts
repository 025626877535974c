/** Batches single requests into calls. Requests that arrive during a call go into the next call. */

interface Asked<Item, Result> {
  item: Item;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

export interface GatheringOptions {
  /** The maximum number of items in a call; there is no limit if absent. */
  most?: number;
  /**
   * The number of calls at the same time; 1 if absent. If it is larger, a connection that hangs delays only its own callers: after
   * `holdsOthersMs`, the next call no longer waits.
   */
  atOnce?: number;
  /** {@link usuallyHoldsMs} if absent. */
  holdsOthersMs?: number;
}

/** In milliseconds. A call without a problem takes far less time. */
export const usuallyHoldsMs = 100;

/** @param work makes one call for all items, and returns their results in the same order */
export function gathered<Item, Result>(
  work: (items: readonly Item[]) => Promise<readonly Result[]>,
  { most = Infinity, atOnce = 1, holdsOthersMs = usuallyHoldsMs }: GatheringOptions = {},
): (item: Item) => Promise<Result> {
  let waiting: Asked<Item, Result>[] = [];
  let underWay = 0;
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
      // Starts later, so that requests of one turn of the event loop share the call.
      if (waiting.length === 1 && mayBegin()) setImmediate(begin);
    });
}
