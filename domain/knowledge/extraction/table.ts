/**
 * A table as people read it: each cell in its column, also where the cells before it are empty or reach over several rows and
 * columns. Every reader of files builds its tables here.
 *
 * A row is written as `Bowline | | 60`. The words of a cell that reaches over several rows or columns stand in each of them, because
 * each row is found and quoted by itself. A cell over the whole row stands once.
 */
import { cleanLine, hasWords } from './text.policy.ts';
import { indexingRules } from '../indexing/indexing.policy.ts';
import type { SectionBuilder } from './sections.ts';
import { Unreadable } from './unreadable.ts';

interface Cell {
  text: string;
  /** Of the row and the column in which it began; a cell that is repeated below and beside is the same one. */
  row: number;
  column: number;
}

interface Row {
  cells: (Cell | undefined)[];
  isHeader: boolean;
}

/** A header that is repeated in each passage of its table takes no more of it than this, in characters. */
const longestRepeatedHeader = 200;
/** As wide as a browser lets one cell be. */
const maxColspan = 1_000;

/** The header of a table, as each passage of it begins. */
export interface TableHeader {
  text: string;
  columns: number;
}

export class TableBuilder {
  readonly #rows: Row[] = [];
  /** By column: the cell that reaches down into the next rows, and how many of them are left. */
  readonly #reaching = new Map<number, { cell: Cell; left: number }>();
  #column = 0;
  #cells = 0;

  /** @param isHeader whether its cells say what stands in the rows below */
  row(isHeader = false): void {
    this.#endRow();
    this.#rows.push({ cells: [], isHeader });
    this.#column = 0;
  }

  /**
   * The next cell of the row, in the order of the file; an empty one is given too.
   * @param text in any form: it is cleaned here
   * @throws Unreadable too_large
   */
  cell(text: string, { colspan = 1, rowspan = 1 }: { colspan?: number; rowspan?: number } = {}): void {
    if (this.#rows.length === 0) this.row();
    this.#fillFromAbove();
    const cell = {
      text: cleanLine(text).replaceAll('|', String.raw`\|`),
      row: this.#rows.length - 1,
      column: this.#column,
    };
    for (let left = spanOf(colspan, maxColspan); left > 0; left--) {
      if (rowspan > 1) this.#reaching.set(this.#column, { cell, left: spanOf(rowspan, 65_534) - 1 });
      this.#put(cell);
    }
  }

  /**
   * Ends the table: its rows are written. A table of one column is a list.
   * @param earlier the header of a table before a page break, which goes on here if it has as many columns
   * @returns the header of the rows, if they have one
   * @throws Unreadable too_large
   */
  end(into: SectionBuilder, earlier?: TableHeader): TableHeader | undefined {
    this.#endRow();
    const rows = this.#rows.filter(({ cells }) => cells.some((cell) => cell && cell.text !== ''));
    const columns = columnsWithText(rows);
    const goesOn =
      earlier?.columns === columns.length && !rows[0]?.isHeader && !this.#repeats(rows[0], columns, earlier);
    const headers = goesOn ? 0 : headersOf(rows, columns.length);
    const header = goesOn ? earlier.text : headers === 0 ? undefined : combined(rows.slice(0, headers), columns);
    for (const [at, { cells }] of rows.entries())
      into.paragraph({
        text: written(columns.map((column) => cells[column])),
        kind: 'row',
        ...(at >= headers && header !== undefined && { header }),
      });
    return header === undefined ? undefined : { text: header, columns: columns.length };
  }

  #repeats(row: Row | undefined, columns: readonly number[], { text }: TableHeader): boolean {
    return row !== undefined && combined([row], columns) === text;
  }

  #put(cell: Cell): void {
    this.#cells += 1;
    if (this.#cells > indexingRules.maxText / 4) throw new Unreadable('too_large');
    const row = this.#rows.at(-1);
    if (row) row.cells[this.#column] = cell;
    this.#column += 1;
  }

  /** Cells that reach down from above stand before the next cell of the file. */
  #fillFromAbove(): void {
    for (;;) {
      const above = this.#reaching.get(this.#column);
      if (!above || above.cell.row === this.#rows.length - 1) return;
      if (above.left === 1) this.#reaching.delete(this.#column);
      else above.left -= 1;
      this.#put(above.cell);
    }
  }

  /** Adds the cells from above that stand behind the last cell of the file. */
  #endRow(): void {
    if (this.#rows.length === 0) return;
    for (const column of [...this.#reaching.keys()].toSorted((a, b) => a - b)) {
      if (column < this.#column) continue;
      this.#column = column;
      this.#fillFromAbove();
    }
  }
}

function spanOf(given: number, most: number): number {
  return Number.isInteger(given) && given > 0 ? Math.min(given, most) : 1;
}

/** Columns in which no cell with a word begins say nothing: they come from cells that only make room, or that reach over too much. */
function columnsWithText(rows: readonly Row[]): number[] {
  const columns = new Set<number>();
  for (const { cells } of rows)
    for (const [column, cell] of cells.entries())
      if (cell && cell.text !== '' && cell.column === column) columns.add(column);
  return [...columns].toSorted((a, b) => a - b);
}

/** @returns how many rows at the head are headers: those that say so, else the first if it has words in each column and rows follow */
function headersOf(rows: readonly Row[], columns: number): number {
  const marked = rows.findIndex(({ isHeader }) => !isHeader);
  if (marked > 0) return marked;
  const first = rows[0]?.cells.filter((cell) => cell && cell.text !== '') ?? [];
  const isNamed = first.length === columns && first.every((cell) => cell && /\p{L}/u.test(cell.text));
  return marked === 0 && rows.length > 1 && columns > 1 && isNamed ? 1 : 0;
}

/** Several rows of headers as one: each column has its words from the top down. Undefined where that is too long to be repeated. */
function combined(rows: readonly Row[], columns: readonly number[]): string | undefined {
  const names = columns.map((column) => {
    const words = rows.map(({ cells }) => cells[column]?.text ?? '').filter((text) => text !== '');
    return [...new Set(words)].join(' ');
  });
  const text = joined(names);
  return columns.length > 1 && hasWords(text) && text.length <= longestRepeatedHeader ? text : undefined;
}

function written(cells: readonly (Cell | undefined)[]): string {
  const [first] = cells;
  if (first && cells.every((cell) => cell === first)) return first.text;
  return joined(cells.map((cell) => cell?.text ?? ''));
}

function joined(cells: readonly string[]): string {
  return cells.join(' | ').replace(/ +/g, ' ');
}
