/** Builds the blocks of a page without structure information: the positions of the lines show tables and columns. */
import { alignedRegions } from './aligned-tables.ts';
import type { Block, Row } from './blocks.ts';
import type { Box } from './pdf-drawing.ts';
import { lineOf, type Line, type Segment } from './letters/pdf-lines.ts';
import { ruledTables } from './ruled-tables.ts';

/** In right-to-left text, the first column of a table is on the right. */
function inReadingOrder(rows: Row[]): Row[] {
  const letters = rows.flatMap(({ cells }) => cells.flatMap(({ lines }) => lines.map(({ text }) => text))).join('');
  const [right, left] = [/[\p{Script=Arabic}\p{Script=Hebrew}]/gu, /\p{Script=Latin}/gu].map(
    (pattern) => letters.match(pattern)?.length ?? 0,
  );
  if ((right ?? 0) <= (left ?? 0)) return rows;
  return rows.map((row) => ({ ...row, cells: row.cells.toReversed() }));
}

/** @param lines the blocks in the order of the file. In the result, a table or a column is at the position of its first line */
export function blocksOf(lines: readonly Line[], rules: readonly Box[]): Block[] {
  const segments = lines.flatMap((line) => line.segments);
  const ruled = ruledTables(segments, rules);
  const inRuled = new Set(ruled.flatMap((table) => table.segments));
  const aligned = alignedRegions(segments.filter((segment) => !inRuled.has(segment)));
  const regionOf = new Map<Segment, { rows?: Row[]; lines?: Line[] }>();
  for (const region of [...ruled, ...aligned]) for (const segment of region.segments) regionOf.set(segment, region);
  const blocks: Block[] = [];
  const addLines = (more: Line[]) => {
    const last = blocks.at(-1);
    if (last?.kind === 'lines') for (const line of more) last.lines.push(line);
    else blocks.push({ kind: 'lines', lines: more });
  };
  const writtenTables = new Set<object>();
  for (const line of lines) {
    let free: Segment[] = [];
    const flush = () => {
      if (free.length > 0) addLines([free.length === line.segments.length ? line : lineOf(free)]);
      free = [];
    };
    for (const segment of line.segments) {
      const region = regionOf.get(segment);
      if (!region) free.push(segment);
      else if (!writtenTables.has(region)) {
        flush();
        writtenTables.add(region);
        if (region.rows) blocks.push({ kind: 'table', rows: inReadingOrder(region.rows) });
        else addLines(region.lines ?? []);
      }
    }
    flush();
  }
  return blocks;
}
