/** Reads the rows of an imported file, one piece at a time. Each row gives either a person or an error. */
import { CsvError, parse } from 'csv-parse/sync';
import { isEmail } from '../../../platform/core/text/email.policy.ts';
import { foldEmail, hasVisible, tidyName } from '../../../platform/core/text/text.policy.ts';
import type { FileFormat, ImportColumn, RowCode } from '../../../entities/access/values.ts';
import { parsing, studentColumns } from './header.ts';
import { importRules } from './imports.policy.ts';

export interface Person {
  /** Case-folded. */
  email: string;
  /** The name of the person. Empty if the import does not read the names. */
  name: string;
}

export type FileRow = { row: number } & ({ person: Person } | { fault: RowFault });

export interface RowFault {
  code: RowCode;
  column?: ImportColumn;
}

export interface Piece {
  bytes: Buffer;
  /** Whether the file ends with this piece. */
  isLast: boolean;
}

export interface ReadRows {
  rows: FileRow[];
  /** The number of bytes of the piece that were processed. The next row begins after these bytes. */
  consumed: number;
  nextRow: number;
  /** The piece ends inside a line that is too long for a row. The rest of the line must be skipped. */
  endsInsideLine: boolean;
  /**
   * The last row is too long and has quotes, so its end is unknown. The reader must not read the next lines as rows, because they may
   * belong to this row.
   */
  endsInsideQuotes: boolean;
}

/** Whether the bytes of a line may open a quoted value that continues on the next line. */
export const isQuoted = (bytes: Buffer): boolean => bytes.includes('"');

/**
 * Reads whole rows from the beginning of a piece. If a row cannot be read, the function skips only the first line of the row. Otherwise the
 * following rows would be lost after an unclosed quote. A piece may be too short to show whether a quote is closed. Then the function stops
 * before the row with the quote, because text inside quotes may look like rows.
 * @param nextRow the number of the first row
 * @param max the maximum number of rows to read
 * @param requiredColumns the columns that are read and checked
 */
export function readRows(
  piece: Piece,
  format: FileFormat,
  nextRow: number,
  max: number,
  requiredColumns: readonly ImportColumn[] = studentColumns,
): ReadRows {
  const end = piece.isLast ? piece.bytes.length : piece.bytes.lastIndexOf(lineFeed) + 1;
  if (end === 0 && !piece.isLast) {
    return {
      rows: [tooLong(nextRow)],
      consumed: piece.bytes.length,
      nextRow: nextRow + 1,
      endsInsideLine: true,
      endsInsideQuotes: isQuoted(piece.bytes),
    };
  }
  const read: ReadRows = { rows: [], consumed: 0, nextRow, endsInsideLine: false, endsInsideQuotes: false };
  let remainingRows = max;
  while (remainingRows > 0 && read.consumed < end) {
    const { records, stoppedBy } = parseOn(piece.bytes.subarray(read.consumed, end), format, remainingRows);
    for (const { fields, line } of records) {
      const row = rowOf(fields, format, read.nextRow + line, requiredColumns);
      if (row) read.rows.push(row);
    }
    const last = records.at(-1);
    read.consumed += last?.end ?? 0;
    read.nextRow += last === undefined ? 0 : last.line + 1;
    remainingRows -= records.length;
    if (stoppedBy === undefined && remainingRows === 0) break;
    skipEmptyLines(piece.bytes, end, read);
    if (stoppedBy === undefined && records.length === 0) break; // only empty lines remain in the piece
    if (stoppedBy === undefined) continue;
    if (stoppedBy === 'open quote' && !piece.isLast) {
      // The end of the piece cuts this row off. The next piece begins with the complete row, unless the row is longer than a piece.
      if (read.consumed > 0) break;
      return { ...read, rows: [tooLong(nextRow)], consumed: end, nextRow: nextRow + 1, endsInsideQuotes: true };
    }
    read.rows.push({ row: read.nextRow++, fault: { code: 'broken_quotes' } });
    const lineEnd = piece.bytes.indexOf(lineFeed, read.consumed);
    read.consumed = lineEnd === -1 ? end : lineEnd + 1;
    remainingRows -= 1;
  }
  return read;
}

const tooLong = (row: number): FileRow => ({ row, fault: { code: 'row_too_long' } });

interface ParsedRecord {
  fields: Buffer[];
  /** The number of the line, counted from 0 at the line at which parsing began. */
  line: number;
  end: number;
}

/** @returns the records before the first unreadable record, and the fault of that record */
function parseOn(
  bytes: Buffer,
  { delimiter }: FileFormat,
  max: number,
): { records: ParsedRecord[]; stoppedBy?: 'open quote' | 'stray quote' } {
  const records: ParsedRecord[] = [];
  const addRecord = (fields: Buffer[], info: { bytes: number; records: number; empty_lines: number }) => {
    records.push({ fields, line: info.records - 1 + info.empty_lines, end: info.bytes });
  };
  try {
    parse(bytes, { ...parsing, delimiter, to: max, on_record: addRecord as never });
    return { records };
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    return { records, stoppedBy: error.code === 'CSV_QUOTE_NOT_CLOSED' ? 'open quote' : 'stray quote' };
  }
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

function skipEmptyLines(bytes: Buffer, end: number, read: ReadRows): void {
  for (;;) {
    const at = bytes[read.consumed] === carriageReturn ? read.consumed + 1 : read.consumed;
    if (at >= end || bytes[at] !== lineFeed) return;
    read.consumed = at + 1;
    read.nextRow += 1;
  }
}

/** @returns undefined for a line that has only blanks and delimiters, which is how spreadsheets write an empty row */
function rowOf(
  fields: readonly Buffer[],
  format: FileFormat,
  row: number,
  requiredColumns: readonly ImportColumn[],
): FileRow | undefined {
  if (fields.every((field) => field.every((byte) => byte === 0x20 || byte === 0x09))) return undefined;
  if (fields.length !== format.columns) return { row, fault: { code: 'wrong_column_count' } };
  const person: Person = { email: '', name: '' };
  for (const column of requiredColumns) {
    const value = judge(column, fields[format[column]]);
    if (typeof value !== 'string') return { row, fault: value };
    person[column] = value;
  }
  return { row, person };
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** @returns the normalized value, or its fault */
function judge(column: ImportColumn, field: Buffer | undefined): string | RowFault {
  let text: string;
  try {
    text = utf8.decode(field);
  } catch {
    return { code: 'not_utf8', column };
  }
  if (text.includes('\0')) return { code: 'invalid_character', column };
  // An address is checked before it is converted to lower case, because the conversion turns the Kelvin sign into a plain k.
  const value = column === 'email' ? text.trim() : tidyName(text);
  const code = rules[column].find(({ breaks }) => breaks(value))?.code;
  if (code !== undefined) return { code, column };
  return column === 'email' ? foldEmail(value) : value;
}

const characters = (text: string) => Array.from(text).length;

const rules: Record<ImportColumn, readonly { code: RowCode; breaks: (value: string) => boolean }[]> = {
  email: [
    { code: 'email_missing', breaks: (value) => value === '' },
    { code: 'email_invalid', breaks: (value) => characters(value) > importRules.emailCharacters || !isEmail(value) },
  ],
  name: [
    { code: 'name_missing', breaks: (value) => !hasVisible(value) },
    { code: 'name_too_long', breaks: (value) => characters(value) > importRules.nameCharacters },
  ],
};
