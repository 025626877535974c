/**
 * Reads tables in CSV text. The fields are separated by commas, semicolons, tabs or bars. The first row is the header of the other rows.
 */
import { CsvError, parse } from 'csv-parse/sync';
import type { SectionBuilder } from '../sections.ts';
import { TableBuilder } from '../table.ts';

const delimiters = [',', ';', '\t', '|'] as const;
/** The delimiter is detected from this number of characters at the beginning of the file. */
const sample = 50_000;

/** @throws Unreadable too_large */
export function readCsv(text: string, into: SectionBuilder): void {
  const [line = '', said] = /^sep=(.)\r?\n/i.exec(text) ?? []; // in this line, the file names its delimiter for Excel
  const content = text.slice(line.length);
  const delimiter = said ?? delimiterOf(content.slice(0, sample));
  const table = new TableBuilder();
  for (const [at, fields] of rowsOf(content, delimiter).entries()) {
    table.row(at === 0);
    for (const field of fields) table.cell(field);
  }
  table.end(into);
}

/**
 * @returns the delimiter of the file. It gives most of the first rows the same number of fields. If several delimiters are
 * equally good, the delimiter that gives the most fields is chosen
 */
function delimiterOf(head: string): string {
  let best: { delimiter: string; score: number } = { delimiter: ',', score: 0 };
  for (const delimiter of delimiters) {
    const widths = rowsOf(head, delimiter)
      .slice(0, 50)
      .map((fields) => fields.length);
    const [width = 1] = widths;
    const score = width > 1 ? widths.filter((one) => one === width).length / widths.length + width / 10_000 : 0;
    if (score > best.score) best = { delimiter, score };
  }
  return best.delimiter;
}

/** If a quote is never closed, all quotes count as ordinary characters. Otherwise this quote would join all later rows to one field. */
function rowsOf(text: string, delimiter: string): string[][] {
  const options = { delimiter, relax_column_count: true, skip_empty_lines: true, bom: true };
  try {
    return parse(text, { ...options, relax_quotes: true });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    return parse(text, { ...options, quote: false });
  }
}
