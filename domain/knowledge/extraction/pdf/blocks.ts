/** Defines the blocks of a PDF page, such as paragraphs and tables, before headers, footers and notes are detected. */
import type { Line } from './letters/pdf-lines.ts';

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
  /** Only the positions of these lines show where paragraphs and headings begin. */
  | { kind: 'lines'; lines: Line[] }
  /** The lines of one paragraph, or of one row of a list. */
  | { kind: 'prose' | 'row'; lines: Line[] }
  | { kind: 'heading'; level: number; lines: Line[] }
  | { kind: 'table'; rows: Row[] }
  | { kind: 'picture'; text: string };

/** @returns the lines of a block outside tables */
export function linesIn(block: Block): readonly Line[] {
  return 'lines' in block ? block.lines : [];
}
