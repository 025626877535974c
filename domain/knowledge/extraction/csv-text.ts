/** Tables as text (CSV): rows of fields between commas, semicolons, tabs or bars. The first row says what stands in the others. */
import { CsvError, parse } from 'csv-parse/sync';
import type { SectionBuilder } from './sections.ts';
import { TableBuilder } from './table.ts';

const delimiters = [',', ';', '\t', '|'] as const;
/** So many characters at the beginning show which of them it is. */
const sample = 50_000;

/** @throws Unreadable too_large */
export function readCsv(text: string, into: SectionBuilder): void {
  const [line = '', said] = /^sep=(.)\r?\n/i.exec(text) ?? []; // how Excel is told the delimiter
  const content = text.slice(line.length);
  const delimiter = said ?? delimiterOf(content.slice(0, sample));
  const table = new TableBuilder();
  for (const [at, fields] of rowsOf(content, delimiter).entries()) {
    table.row(at === 0);
    for (const field of fields) table.cell(field);
  }
  table.end(into);
}

/** @returns the one by which most of the first rows have the same number of fields, and most fields */
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

/** A quote that nobody closes would take all rows after it into one field: then quotes are signs like others. */
function rowsOf(text: string, delimiter: string): string[][] {
  const options = { delimiter, relax_column_count: true, skip_empty_lines: true, bom: true };
  try {
    return parse(text, { ...options, relax_quotes: true });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    return parse(text, { ...options, quote: false });
  }
}
