/** Reads the data tables of a page, row by row, and recognizes tables that only serve for layout. */
import { elementsIn, hasWord, visit, type HtmlElement } from './html-tree.ts';
import type { SectionBuilder } from '../sections.ts';
import { TableBuilder } from '../table.ts';

/**
 * @returns the tables that only serve for layout. The role of such a table says so, or the table contains another table and has neither a
 * header nor a caption
 */
export function layoutTables(root: HtmlElement): Set<HtmlElement> {
  const layouts = new Set<HtmlElement>();
  const open: { table: HtmlElement; holdsTable: boolean; isMarked: boolean }[] = [];
  visit(root, {
    enter(element) {
      const around = open.at(-1);
      if (element.tag === 'table') {
        if (around) around.holdsTable = true;
        open.push({ table: element, holdsTable: false, isMarked: false });
      } else if (around && (element.tag === 'th' || element.tag === 'caption' || element.tag === 'thead'))
        around.isMarked = true;
      return true;
    },
    text: () => {},
    leave({ tag }) {
      if (tag !== 'table') return;
      const closed = open.pop();
      if (!closed) return;
      const { table, holdsTable, isMarked } = closed;
      if ((holdsTable && !isMarked) || hasWord(table, 'role', ['presentation', 'none'])) layouts.add(table);
    },
  });
  return layouts;
}

interface Row {
  isHeader: boolean;
  cells: { text: string; colspan: number; rowspan: number }[];
}

const sections = ['thead', 'tbody', 'tfoot'] as const;
type Section = (typeof sections)[number];

/** The rows of a table whose end tag has not been reached yet. */
export class OpenTable {
  /** The parts of the table, such as head and body. A cell ends at the last row of its part. */
  readonly #parts: { section: Section; rows: Row[] }[] = [];
  #part: HtmlElement | undefined;

  row(element: HtmlElement): void {
    const around = element.parent;
    const section = sections.find((tag) => tag === around?.tag) ?? 'tbody';
    if (this.#parts.length === 0 || around !== this.#part) this.#parts.push({ section, rows: [] });
    this.#part = around;
    this.#parts.at(-1)?.rows.push({ isHeader: section === 'thead' || isHeaderRow(element), cells: [] });
  }

  cell({ attributes }: HtmlElement, text: string): void {
    if (this.#parts.length === 0) this.#parts.push({ section: 'tbody', rows: [] });
    const rows = this.#parts.at(-1)?.rows ?? [];
    if (rows.length === 0) rows.push({ isHeader: false, cells: [] });
    const span = (name: string) => Number.parseInt(attributes.get(name) ?? '1', 10);
    rows.at(-1)?.cells.push({ text, colspan: span('colspan'), rowspan: span('rowspan') });
  }

  /** @throws Unreadable too_large */
  end(into: SectionBuilder): void {
    const table = new TableBuilder();
    for (const section of sections)
      for (const { rows } of this.#parts.filter((part) => part.section === section))
        for (const [at, { isHeader, cells }] of rows.entries()) {
          table.row(isHeader);
          const remainingRows = rows.length - at;
          for (const { text, colspan, rowspan } of cells)
            table.cell(text, { colspan, rowspan: rowspan === 0 ? remainingRows : Math.min(rowspan, remainingRows) });
        }
    table.end(into);
  }
}

function isHeaderRow(row: HtmlElement): boolean {
  const cells = elementsIn(row).filter(({ tag }) => tag === 'td' || tag === 'th');
  return (
    cells.length > 0 &&
    cells.every(({ tag, attributes }) => tag === 'th' && !attributes.get('scope')?.startsWith('row'))
  );
}
