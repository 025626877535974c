/** Shortens long rows, so that a page of a list stays below the maximum size of an answer (REC-10). */

/** In bytes. The limit is lower than the maximum of an answer, because an answer also contains text around the rows. */
const mostBytes = 990_000;
/** In JSON a control character becomes six bytes. */
const mostBytesAByte = 6;

/**
 * The maximum characters of each text, and items of each list inside a row. These limits are tried in this order, until the page is small
 * enough.
 */
const limits: readonly { characters: number; items: number }[] = [
  { characters: 10_000, items: 200 },
  { characters: 5_000, items: 100 },
  { characters: 2_000, items: 50 },
  { characters: 1_000, items: 20 },
  { characters: 400, items: 10 },
  { characters: 100, items: 2 },
];

/** Texts with these names stay whole: a part of an address or an id is useless. */
const isWhole = (name: string) => /(?:^|_)(?:url|id|ids|code|email)$/.test(name);

/** @returns the rows themselves if they fit, or else copies with shortened texts and lists */
export function fitRows<Row>(rows: readonly Row[]): { rows: readonly Row[]; shortened: boolean } {
  if (sizeOf(rows) * mostBytesAByte <= mostBytes || bytesOf(rows) <= mostBytes) return { rows, shortened: false };
  let fitting = rows;
  for (const limit of limits) {
    fitting = rows.map((row) => shortened('', row, limit) as Row);
    if (bytesOf(fitting) <= mostBytes) break;
  }
  return { rows: fitting, shortened: true };
}

const bytesOf = (rows: unknown) => Buffer.byteLength(JSON.stringify(rows));

/** An estimate is cheaper than writing the JSON. @returns the approximate number of bytes */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + sizeOf(item) + 1, 0);
  if (typeof value !== 'object' || value === null) return 8;
  return Object.entries(value).reduce((sum, [name, part]) => sum + name.length + 4 + sizeOf(part), 0);
}

function shortened(name: string, value: unknown, limit: (typeof limits)[number]): unknown {
  if (typeof value === 'string')
    return value.length <= limit.characters || isWhole(name) ? value : `${wellCut(value, limit.characters)}…`;
  if (Array.isArray(value)) {
    const items = isWhole(name) ? value : value.slice(0, limit.items);
    return items.map((item) => shortened(name, item, limit));
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, shortened(key, part, limit)]));
}

/** Cuts a text, but never inside a surrogate pair. */
const wellCut = (text: string, length: number) => text.slice(0, length).replace(/[\uD800-\uDBFF]$/, '');
