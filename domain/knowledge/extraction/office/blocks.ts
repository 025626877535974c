/** Defines the blocks of office files, such as paragraphs and tables, and writes them into sections. */
import type { SectionBuilder } from '../sections.ts';
import { TableBuilder } from '../table.ts';

export interface TableCell {
  text: string;
  colspan?: number;
  rowspan?: number;
}

export interface TableRow {
  isHeader: boolean;
  cells: TableCell[];
}

export type Block =
  | { kind: 'heading'; level: number; text: string }
  | { kind: 'prose' | 'row'; text: string }
  | { kind: 'table'; rows: TableRow[] };

/** @throws Unreadable too_large */
export function writeBlock(block: Block, into: SectionBuilder): void {
  if (block.kind === 'heading') into.heading(block.level, block.text);
  else if (block.kind !== 'table') into.paragraph({ text: block.text, kind: block.kind });
  else {
    const table = new TableBuilder();
    for (const { isHeader, cells } of block.rows) {
      table.row(isHeader);
      for (const { text, ...spans } of cells) table.cell(text, spans);
    }
    table.end(into);
  }
}

/** @returns the words of a cell. The cells of an inner table are separated by `, ` and its rows by `; ` */
export function textOfBlocks(blocks: Iterable<Block>): string {
  const texts = Array.from(blocks, (block) => {
    if (block.kind !== 'table') return block.text.trim();
    const rows = block.rows.map(({ cells }) =>
      cells.map(({ text }) => text.trim()).filter((text) => text !== '').join(', '),
    ); // prettier-ignore
    return rows.filter((row) => row !== '').join('; ');
  });
  return texts.filter((text) => text !== '').join(' ');
}
