/**
 * Finds tables without drawn lines, and columns of prose. In both cases, words are aligned below each other. Columns of prose have many
 * long lines. The cells of a table are short, or leave much empty space.
 */
import { lineOf, type Line, type Segment } from './letters/pdf-lines.ts';
import { linesOfCell } from './ruled-tables.ts';
import type { Row } from './blocks.ts';

export interface Region {
  segments: readonly Segment[];
  /** Undefined if the region contains columns of prose. */
  rows?: Row[];
  /** The lines of prose, column by column. */
  lines?: Line[];
}

interface Level {
  y: number;
  size: number;
  segments: Segment[];
}

interface Column {
  x: number;
  right: number;
}

export function alignedRegions(segments: readonly Segment[]): Region[] {
  const levels = levelsOf(segments);
  const regions: Region[] = [];
  let run: Level[] = [];
  const end = () => {
    regions.push(...regionsIn(run));
    run = [];
  };
  for (const level of levels) {
    const before = run.at(-1);
    const isFar = before && before.y - level.y > Math.max(before.size, level.size) * 2.6;
    if (isFar) end();
    if (run.length > 0 || level.segments.length > 1) run.push(level);
  }
  end();
  return regions;
}

/** @returns the segments grouped by their height, from the top down */
function levelsOf(segments: readonly Segment[]): Level[] {
  const levels: Level[] = [];
  for (const segment of segments.toSorted((a, b) => b.y - a.y)) {
    const level = levels.at(-1);
    if (level && level.y - segment.y <= Math.min(level.size, segment.size) * 0.4) level.segments.push(segment);
    else levels.push({ y: segment.y, size: segment.size, segments: [segment] });
  }
  for (const level of levels) level.segments.sort((a, b) => a.x - b.x);
  return levels;
}

/** A line across several columns divides a group of lines, and the columns of each part are searched again, at most this many times. */
const maxDivisions = 3;

/** Finds the regions in a group of lines. A line across several columns divides the group. */
function regionsIn(run: readonly Level[], divisions = 0): Region[] {
  const columns = columnsOf(run);
  if (columns.length < 2) return [];
  const parts: Level[][] = [[]];
  for (const level of run) {
    const isCrossing = level.segments.length === 1 && placesOf(level.segments[0], columns).length !== 1;
    if (isCrossing) parts.push([]);
    else parts.at(-1)?.push(level);
  }
  if (parts.length > 1)
    return divisions < maxDivisions ? parts.flatMap((part) => regionsIn(trimmed(part), divisions + 1)) : [];
  const region = regionOf(withoutTail(trimmed(run)), columns);
  return region ? [region] : [];
}

/** Removes from a table the lines above its first row that have only one cell. */
function trimmed(run: readonly Level[]): Level[] {
  const first = run.findIndex(({ segments }) => segments.length > 1);
  return first < 0 ? [] : run.slice(first);
}

/** Drops a paragraph below the last row of a table, if the gap above it is a little larger than the gaps between the rows. */
function withoutTail(run: readonly Level[]): Level[] {
  const steps = run.slice(1).map(({ y }, at) => (run[at]?.y ?? 0) - y);
  const usual = steps.toSorted((a, b) => a - b)[Math.floor(steps.length / 2)] ?? 0;
  const last = run.findLastIndex(({ segments }) => segments.length > 1);
  const far = run.findIndex((_, at) => at > last && (steps[at - 1] ?? 0) > usual * 1.25);
  return far < 0 ? [...run] : run.slice(0, far);
}

/** @returns the columns, from the rows with the usual number of cells; an empty list if they overlap */
function columnsOf(run: readonly Level[]): Column[] {
  const counts = new Map<number, number>();
  for (const { segments } of run)
    if (segments.length > 1) counts.set(segments.length, (counts.get(segments.length) ?? 0) + 1);
  const byUse = [...counts].toSorted(([a, many], [b, more]) => more - many || b - a);
  for (const [usual] of byUse) {
    const wide = run.filter(({ segments }) => segments.length >= usual).flatMap(({ segments }) => segments);
    const columns: Column[] = [];
    for (const { x, right, size } of wide.toSorted((a, b) => a.x - b.x)) {
      const last = columns.at(-1);
      if (last && x < last.right + size * 0.3) last.right = Math.max(last.right, right);
      else columns.push({ x, right });
    }
    if (columns.length >= usual) return columns;
  }
  return [];
}

/** @returns the columns that a segment covers; if it covers none, the column in which it begins */
function placesOf(segment: Segment | undefined, columns: readonly Column[]): number[] {
  if (!segment) return [];
  const slack = segment.size * 0.3;
  const found = columns.flatMap(({ x, right }, at) =>
    segment.x < right - slack && segment.right > x + slack ? [at] : [],
  );
  if (found.length > 0) return found;
  const before = columns.findLastIndex(({ x }) => x <= segment.x + slack);
  return [Math.max(0, before)];
}

const proseRules = { longest: 3, characters: 22, filled: 0.7, lines: 3 } as const;

function regionOf(run: readonly Level[], columns: readonly Column[]): Region | undefined {
  const wide = run.filter(({ segments }) => segments.length > 1);
  if (wide.length < (columns.length > 2 ? 2 : 3)) return undefined;
  const byColumn = columns.map((_, at) =>
    run.flatMap(({ segments }) => segments.filter((segment) => placesOf(segment, columns)[0] === at)),
  );
  const prose = byColumn.filter((own, at) => isProse(own, columns[at]));
  if (prose.length >= 2 && prose.length === columns.length && columns.length <= proseRules.longest) {
    const segments = byColumn.flat();
    return { segments, lines: byColumn.flatMap((own) => own.map((segment) => lineOf([segment]))) };
  }
  const [first = []] = byColumn;
  const many = (share: number, test: RegExp) =>
    first.filter(({ text }) => test.test(text)).length >= first.length * share;
  if (many(0.8, isItemSign) || (columns.length === 2 && many(0.6, /[:：]\s*$/))) return undefined;
  if (!byColumn.every(isAligned)) return undefined;
  return { segments: run.flatMap(({ segments }) => segments), rows: rowsOf(run, columns) };
}

const isItemSign = /^\s*(?:[•◦▪‣●○■□☐☑☒➢✓–*-]|\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)])\s*$/u;

function isProse(segments: readonly Segment[], column: Column | undefined): boolean {
  if (!column || segments.length < proseRules.lines) return false;
  const width = column.right - column.x;
  const characters = segments.reduce((sum, { text }) => sum + text.length, 0) / segments.length;
  const full = segments.filter(({ x, right }) => right - x >= width * 0.75).length;
  return characters >= proseRules.characters && full >= segments.length * proseRules.filled;
}

/** Whether most cells of a column are aligned at their left side, their right side or their middle. */
function isAligned(segments: readonly Segment[]): boolean {
  const at = [({ x }: Segment) => x, ({ right }: Segment) => right, ({ x, right }: Segment) => (x + right) / 2].map(
    (place) => {
      const places = segments.map(place).toSorted((a, b) => a - b);
      const middle = places[Math.floor(places.length / 2)] ?? 0;
      const near = segments.filter((segment) => Math.abs(place(segment) - middle) <= segment.size * 0.6);
      return near.length / segments.length;
    },
  );
  return Math.max(...at) >= 0.7;
}

function rowsOf(run: readonly Level[], columns: readonly Column[]): Row[] {
  const rows: Segment[][][] = [];
  let before: Level | undefined;
  for (const level of run) {
    const cells: Segment[][] = columns.map(() => []);
    for (const segment of level.segments) cells[placesOf(segment, columns)[0] ?? 0]?.push(segment);
    const row = rows.at(-1);
    if (row && before && goesOn(before, level, row, cells, columns))
      for (const [at, cell] of cells.entries()) row[at]?.push(...cell);
    else rows.push(cells);
    before = level;
  }
  return rows.map((cells) => ({
    isHeader: false,
    cells: spanned(cells, columns).map(({ segments, colspan }) => ({
      lines: linesOfCell(segments),
      colspan,
      rowspan: 1,
    })),
  }));
}

/**
 * Vertical distances in letter sizes. `line` is the maximum distance between two lines of one cell. Two segments in different columns
 * belong to the same row if their distance is smaller than `beside`. Cells that are centred vertically have such distances.
 */
const steps = { line: 1.5, beside: 0.75 } as const;

/**
 * Whether a line still belongs to the current row. It does if it continues the words of a cell, or if it is beside the lines of a different
 * cell.
 */
function goesOn(
  before: Level,
  level: Level,
  row: Segment[][],
  cells: Segment[][],
  columns: readonly Column[],
): boolean {
  const shared = cells.flatMap((cell, at) => (cell.length > 0 && (row[at] ?? []).length > 0 ? [at] : []));
  if (shared.length === 0) return before.y - level.y < level.size * steps.beside;
  // Words in the first column usually begin a new row, but the first cell of a row may also be at its bottom.
  const isBegun = (row[0] ?? []).length > 0;
  const above = shared.map((at) => row[at]?.at(-1)?.y ?? Infinity);
  if (Math.min(...above) - level.y > level.size * steps.line) return false;
  if (isBegun && (level.segments.length === columns.length || shared.length < level.segments.length)) return false;
  return shared.every((at) => isWrapped(row[at]?.at(-1), cells[at]?.[0], columns[at], columns[at + 1]));
}

/** Whether the line was broken only because its first word did not fit. */
function isWrapped(last?: Segment, segment?: Segment, column?: Column, next?: Column): boolean {
  if (!last || !segment || !column || (!next && !last.text.includes(' '))) return false;
  const room = next ? next.x - segment.size : column.right - segment.size * 0.5;
  const [word = ''] = segment.text.split(' ');
  const width = ((segment.right - segment.x) / Math.max(1, segment.text.length)) * (word.length + 1);
  return last.right + width > room;
}

/** Finds how many columns each cell spans. The words of a cell that spans several columns are repeated in each column. */
function spanned(cells: Segment[][], columns: readonly Column[]): { segments: Segment[]; colspan: number }[] {
  const result: { segments: Segment[]; colspan: number }[] = [];
  for (let at = 0; at < cells.length;) {
    const segments = cells[at] ?? [];
    const places = segments.length === 1 ? placesOf(segments[0], columns) : [at];
    let colspan = 1;
    while (places.includes(at + colspan) && (cells[at + colspan] ?? []).length === 0) colspan += 1;
    result.push({ segments, colspan });
    at += colspan;
  }
  return result;
}
