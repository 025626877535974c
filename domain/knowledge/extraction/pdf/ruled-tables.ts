/** Finds tables whose cells are divided by drawn lines. */
import type { Box } from './pdf-drawing.ts';
import { lineOf, type Line, type Segment } from './letters/pdf-lines.ts';
import type { Cell, Row } from './blocks.ts';

/** Lines meet if they are at most this far apart, in points. */
const slack = 3;
/** A page with more drawn lines is a drawing, and comparing all pairs of lines would take too long. */
const maxRules = 1_500;

export interface RuledTable {
  segments: readonly Segment[];
  rows: Row[];
}

/** @returns the tables that have at least two columns, and words in at least two cells */
export function ruledTables(segments: readonly Segment[], rules: readonly Box[]): RuledTable[] {
  if (rules.length > maxRules) return [];
  return connected(rules).flatMap((group) => {
    const table = tableIn(group, segments);
    return table ? [table] : [];
  });
}

const isUpright = ({ width, height }: Box) => height > width;

function connected(rules: readonly Box[]): Box[][] {
  const sorted = rules.toSorted((a, b) => a.x - b.x);
  const groupOf = sorted.map((_, at) => at);
  const root = (at: number): number => {
    let found = at;
    while (groupOf[found] !== found) {
      groupOf[found] = groupOf[groupOf[found] ?? found] ?? found;
      found = groupOf[found] ?? found;
    }
    return found;
  };
  for (const [at, rule] of sorted.entries())
    for (let next = at + 1; next < sorted.length; next++) {
      const other = sorted[next];
      if (!other || other.x > rule.x + rule.width + slack) break;
      if (other.y <= rule.y + rule.height + slack && rule.y <= other.y + other.height + slack)
        groupOf[root(next)] = root(at);
    }
  const groups = new Map<number, Box[]>();
  for (const [at, rule] of sorted.entries()) {
    const group = groups.get(root(at));
    if (group) group.push(rule);
    else groups.set(root(at), [rule]);
  }
  return [...groups.values()];
}

/** @returns the distinct positions in ascending order */
function distinct(places: readonly number[]): number[] {
  const found: number[] = [];
  for (const place of places.toSorted((a, b) => a - b))
    if (place - (found.at(-1) ?? -Infinity) > slack) found.push(place);
  return found;
}

const maxCells = 20_000;

function tableIn(rules: readonly Box[], segments: readonly Segment[]): RuledTable | undefined {
  const upright = rules.filter(isUpright);
  const level = rules.filter((rule) => !isUpright(rule));
  const xs = distinct(upright.map(({ x, width }) => x + width / 2));
  const ys = distinct(level.map(({ y, height }) => y + height / 2)).toReversed();
  if (xs.length < 3 || ys.length < 2 || xs.length * ys.length > maxCells) return undefined;
  const [columns, rows] = [xs.length - 1, ys.length - 1];
  const place = (values: readonly number[], at: number) => values[at] ?? 0;
  const cells: Segment[][][] = Array.from({ length: rows }, () => Array.from({ length: columns }, () => []));
  const within: Segment[] = [];
  for (const segment of segments) {
    const middle = segment.y + segment.size * 0.3;
    const column = xs.findLastIndex((x) => x <= (segment.x + Math.min(segment.right, segment.x + segment.size)) / 2);
    const row = ys.findLastIndex((y) => y >= middle);
    const cell = column < columns ? cells[row]?.[column] : undefined;
    if (!cell || middle < place(ys, rows)) continue;
    cell.push(segment);
    within.push(segment);
  }
  const hasUpright = (column: number, row: number) => {
    const y = (place(ys, row) + place(ys, row + 1)) / 2;
    return upright.some((rule) => Math.abs(rule.x + rule.width / 2 - place(xs, column)) <= slack && rule.y <= y && rule.y + rule.height >= y); // prettier-ignore
  };
  const hasLevel = (row: number, column: number) => {
    const x = (place(xs, column) + place(xs, column + 1)) / 2;
    return level.some((rule) => Math.abs(rule.y + rule.height / 2 - place(ys, row)) <= slack && rule.x <= x && rule.x + rule.width >= x); // prettier-ignore
  };
  const usedCells = new Set<string>();
  const result = cells.map((row, r): Row => ({
    isHeader: false,
    cells: row.flatMap((_, c): Cell[] => {
      if (usedCells.has(`${r} ${c}`)) return [];
      let [colspan, rowspan] = [1, 1];
      while (c + colspan < columns && !usedCells.has(`${r} ${c + colspan}`) && !hasUpright(c + colspan, r))
        colspan += 1;
      while (r + rowspan < rows && !hasLevel(r + rowspan, c)) rowspan += 1;
      const inside: Segment[] = [];
      for (let down = r; down < r + rowspan; down++)
        for (let right = c; right < c + colspan; right++) {
          usedCells.add(`${down} ${right}`);
          inside.push(...(cells[down]?.[right] ?? []));
        }
      return [{ lines: linesOfCell(inside), colspan, rowspan }];
    }),
  }));
  const filled = result.flatMap((row) => row.cells).filter(({ lines }) => lines.length > 0).length;
  const isWide = result.some(({ cells: own }) => own.length > 1);
  return filled >= 2 && isWide ? { segments: within, rows: result } : undefined;
}

/** @returns the lines from the top down, each from left to right */
export function linesOfCell(segments: readonly Segment[]): Line[] {
  const lines: Segment[][] = [];
  for (const segment of segments.toSorted((a, b) => b.y - a.y)) {
    const line = lines.at(-1);
    if (line?.[0] && line[0].y - segment.y <= Math.max(line[0].size, segment.size) * 0.4) line.push(segment);
    else lines.push([segment]);
  }
  return lines.map((line) => lineOf(line.toSorted((a, b) => a.x - b.x)));
}
