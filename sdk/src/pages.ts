/** Iterates lists (SDK-5): by cursor if the service gives one, otherwise by page number. */
import type { RequestOptions } from './generated/runtime/types.ts';

/** `next_cursor` is absent on the last page, and in lists that only have page numbers. */
export interface Page<Item> {
  readonly data: readonly Item[];
  readonly total?: number;
  readonly next_cursor?: string;
}

type ListCall<Args, Answer> = (args: Args, init?: RequestOptions) => Promise<Answer>;
type ListArgs = { readonly query?: object };
type ItemOf<Answer> = Answer extends { readonly data: readonly (infer Item)[] } ? Item : never;

/**
 * @param list such as `client.listStudents`
 * @param args begins at `cursor` or `page` in `query`, if given
 * @returns the pages; if you leave the loop, no further request is sent
 */
export async function* pagesOf<Args extends ListArgs, Answer extends Page<unknown>>(
  list: ListCall<Args, Answer>,
  args: Args,
  init?: RequestOptions,
): AsyncGenerator<Answer, void, undefined> {
  const { page: first = 1, ...filters } = (args.query ?? {}) as { page?: number; cursor?: string };
  let position: { page?: number; cursor?: string } = args.query ?? {};
  let isByCursor = position.cursor !== undefined;
  let [count, size] = [0, 0];
  for (let number = first; ;) {
    const answer = await list({ ...args, query: { ...filters, ...position } }, init);
    yield answer;
    const { data, total = 0, next_cursor: cursor } = answer;
    count += data.length;
    size ||= data.length;
    isByCursor ||= cursor !== undefined;
    if (cursor === undefined && isByCursor) return;
    if (cursor !== undefined) {
      if (cursor === position.cursor) throw new Error('The list did not advance: two pages have the same cursor.');
      position = { cursor };
      continue;
    }
    if (data.length === 0 || (first - 1) * size + count >= total) return;
    number += 1;
    position = { page: number };
  }
}

/** Yields the records of all pages, one after the other. */
export async function* itemsOf<Args extends ListArgs, Answer extends Page<unknown>>(
  list: ListCall<Args, Answer>,
  args: Args,
  init?: RequestOptions,
): AsyncGenerator<ItemOf<Answer>, void, undefined> {
  for await (const { data } of pagesOf(list, args, init)) for (const item of data) yield item as ItemOf<Answer>;
}
