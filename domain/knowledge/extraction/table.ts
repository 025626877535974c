/**
 * Builds a table so that each cell is in its column, even if cells before it are empty or span several rows and columns. All readers of
 * files build their tables with this module.
 *
 * Collects the cells of a table and writes its rows. A row is written as `Bowline | | 60`. If a cell spans several rows or columns, its
 * words are repeated in each row and column, because each row is found and quoted alone. A cell that spans the whole row is written once.
 */
import { cleanLine, hasWords } from './text.policy.ts';
import { indexingRules } from '../indexing/indexing.policy.ts';
import type { SectionBuilder } from './sections.ts';
import { Unreadable } from './unreadable.ts';

interface Cell {
  text: string;
  /** The row and the column in which the cell begins. A cell that spans rows or columns is stored repeatedly, always with these values. */
  row: number;
  column: number;
}

interface Row {
  cells: (Cell | undefined)[];
  isHeader: boolean;
}

/** The maximum length, in characters, of a header that is repeated in each passage of its table. */
const longestRepeatedHeader = 200;
/** The maximum number of columns that a cell spans. Browsers have the same limit. */
const maxColspan = 1_000;

/** The header with which each passage of a table begins. */
export interface TableHeader {
  text: string;
  columns: number;
}

export class TableBuilder {
  readonly #rows: Row[] = [];
  /** The cell of each column that also covers the next rows, and their number. */
  readonly #reaching = new Map<number, { cell: Cell; rowsLeft: number }>();
  #column = 0;
  #cells = 0;

  /** @param isHeader whether the cells of the row are headers of the columns below them */
  row(isHeader = false): void {
    this.#endRow();
    this.#rows.push({ cells: [], isHeader });
    this.#column = 0;
  }

  /**
   * Adds the next cell of the row, in the order of the file. Empty cells must be added too.
   * @param text in any form; it is cleaned here
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
    for (let remainingColumns = spanOf(colspan, maxColspan); remainingColumns > 0; remainingColumns--) {
      if (rowspan > 1) this.#reaching.set(this.#column, { cell, rowsLeft: spanOf(rowspan, 65_534) - 1 });
      this.#put(cell);
    }
  }

  /**
   * Ends the table and writes its rows. A table of one column is a list.
   * @param earlier the header of the table before a page break, if any. If both tables have the same number of columns, this table
   * continues the earlier table and gets its header
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

  /** Inserts cells of earlier rows that cover this row before the next cell of the file. */
  #fillFromAbove(): void {
    for (;;) {
      const above = this.#reaching.get(this.#column);
      if (!above || above.cell.row === this.#rows.length - 1) return;
      if (above.rowsLeft === 1) this.#reaching.delete(this.#column);
      else above.rowsLeft -= 1;
      this.#put(above.cell);
    }
  }

  /** Ends the current row. After the last cell of the file, the function adds cells of earlier rows that also cover this row. */
  #endRow(): void {
    if (this.#rows.length === 0) return;
    for (const column of [...this.#reaching.keys()].toSorted((a, b) => a - b)) {
      if (column < this.#column) continue;
      this.#column = column;
      this.#fillFromAbove();
    }
  }
}

function spanOf(span: number, most: number): number {
  return Number.isInteger(span) && span > 0 ? Math.min(span, most) : 1;
}

/** Drops each column in which no cell with words begins. Such a column appears if cells only create space, or span too many columns. */
function columnsWithText(rows: readonly Row[]): number[] {
  const columns = new Set<number>();
  for (const { cells } of rows)
    for (const [column, cell] of cells.entries())
      if (cell && cell.text !== '' && cell.column === column) columns.add(column);
  return [...columns].toSorted((a, b) => a - b);
}

/**
 * @returns the number of header rows at the beginning: the number of rows that the file marks as headers. If the file marks none, the first
 * row is the header if all its cells have words and further rows follow
 */
function headersOf(rows: readonly Row[], columns: number): number {
  const marked = rows.findIndex(({ isHeader }) => !isHeader);
  if (marked > 0) return marked;
  const first = rows[0]?.cells.filter((cell) => cell && cell.text !== '') ?? [];
  const isNamed = first.length === columns && first.every((cell) => cell && /\p{L}/u.test(cell.text));
  return marked === 0 && rows.length > 1 && columns > 1 && isNamed ? 1 : 0;
}

/**
 * Joins several header rows to one. Each column then has the words of its header cells from top to bottom.
 * @returns undefined if the header is too long to repeat
 */
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
