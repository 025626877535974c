/** Reads a stream ahead of its reader, up to a bound. Otherwise a broken connection would lose data that was received but not read. */

/**
 * @param most at this number, reading stops until the reader takes an item
 * @param leave ends the source if the reader stops early
 */
export async function* readAhead<T>(
  source: AsyncIterable<T>,
  most: number,
  leave: () => void,
): AsyncGenerator<T, void> {
  const waiting: { item: T }[] = [];
  let end: { error?: unknown } | undefined;
  let hasLeft = false;
  let changed = Promise.withResolvers<void>();
  const turn = () => {
    changed.resolve();
    changed = Promise.withResolvers();
  };

  async function pump(): Promise<void> {
    try {
      for await (const item of source) {
        waiting.push({ item });
        turn();
        while (waiting.length >= most && !hasLeft) await changed.promise;
        if (hasLeft) break;
      }
      end = {};
    } catch (error) {
      end = { error };
    }
    turn();
  }

  void pump();
  try {
    for (;;) {
      const next = waiting.shift();
      if (next) {
        turn();
        yield next.item;
      } else if (end) {
        if ('error' in end) throw end.error;
        return;
      } else await changed.promise;
    }
  } finally {
    hasLeft = true;
    turn();
    if (!end) leave();
  }
}
