/** What a page of a PDF is read out as, before its furniture and its notes are known. */
import type { Line } from './pdf-lines.ts';

export interface Cell {
  lines: Line[];
  colspan: number;
  rowspan: number;
}

export interface Row {
  isHeader: boolean;
  cells: Cell[];
}

export type Block =
  /** Lines of which only their places tell where paragraphs and headings begin. */
  | { kind: 'lines'; lines: Line[] }
  /** One paragraph, or a row of a list. */
  | { kind: 'prose' | 'row'; lines: Line[] }
  | { kind: 'heading'; level: number; lines: Line[] }
  | { kind: 'table'; rows: Row[] }
  | { kind: 'picture'; text: string };

/** @returns the lines of a block that are not in a table */
export function linesIn(block: Block): readonly Line[] {
  return 'lines' in block ? block.lines : [];
}
