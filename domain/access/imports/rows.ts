/** The rows of an imported file, a piece of it at a time: each a person, or the reason why it is none. */
import { CsvError, parse } from 'csv-parse/sync';
import { isEmail } from '../../../platform/core/email.policy.ts';
import { foldEmail, hasVisible, tidyName } from '../../../platform/core/text.policy.ts';
import type { FileFormat, ImportColumn, RowCode } from '../../../entities/access/values.ts';
import { parsing, studentColumns } from './header.ts';
import { importRules } from './imports.policy.ts';

export interface Person {
  /** Folded. */
  email: string;
  /** Empty where the file's names are not wanted. */
  name: string;
}

export type FileRow = { row: number } & ({ person: Person } | { fault: RowFault });

export interface RowFault {
  code: RowCode;
  column?: ImportColumn;
}

export interface Piece {
  bytes: Buffer;
  /** Whether the file ends with it. */
  isLast: boolean;
}

export interface ReadRows {
  rows: FileRow[];
  /** How many bytes of the piece are done with; the next row begins there. */
  consumed: number;
  nextRow: number;
  /** The piece ends inside a line that is too long to be a row: the rest of the line is still to be passed over. */
  endsInsideLine: boolean;
  /** The last row is too long, and has quotes: where it ends is not known, and its lines must not be taken for rows. */
  endsInsideQuotes: boolean;
}

/** Whether bytes of a line may open a value that goes on in the next one. */
export const isQuoted = (bytes: Buffer): boolean => bytes.includes('"');

/**
 * Reads whole rows from the beginning of a piece. A row that cannot be read costs its first line and no more: a quote that
 * nobody closes must not swallow the rows after it. Where the piece is too short to tell whether it is closed, nothing more is
 * read: what stands in quotes may look like rows.
 * @param nextRow the number of the first row
 * @param max rows to read at most
 * @param wanted the columns that are read and judged
 */
export function readRows(
  piece: Piece,
  format: FileFormat,
  nextRow: number,
  max: number,
  wanted: readonly ImportColumn[] = studentColumns,
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
  let left = max;
  while (left > 0 && read.consumed < end) {
    const { records, stoppedBy } = parseOn(piece.bytes.subarray(read.consumed, end), format, left);
    for (const { fields, place } of records) {
      const row = rowOf(fields, format, read.nextRow + place, wanted);
      if (row) read.rows.push(row);
    }
    const last = records.at(-1);
    read.consumed += last?.end ?? 0;
    read.nextRow += last === undefined ? 0 : last.place + 1;
    left -= records.length;
    if (stoppedBy === undefined && left === 0) break;
    passEmptyLines(piece.bytes, end, read);
    if (stoppedBy === undefined && records.length === 0) break; // nothing but empty lines was left
    if (stoppedBy === undefined) continue;
    if (stoppedBy === 'open quote' && !piece.isLast) {
      // What the end of the piece has cut off is whole at the beginning of the next one, unless it is longer than a piece.
      if (read.consumed > 0) break;
      return { ...read, rows: [tooLong(nextRow)], consumed: end, nextRow: nextRow + 1, endsInsideQuotes: true };
    }
    read.rows.push({ row: read.nextRow++, fault: { code: 'broken_quotes' } });
    const lineEnd = piece.bytes.indexOf(lineFeed, read.consumed);
    read.consumed = lineEnd === -1 ? end : lineEnd + 1;
    left -= 1;
  }
  return read;
}

const tooLong = (row: number): FileRow => ({ row, fault: { code: 'row_too_long' } });

interface ParsedRecord {
  fields: Buffer[];
  /** Which line of a spreadsheet it is, from 0 where the parsing began. */
  place: number;
  /** Where it ends, its line break included, from where the parsing began. */
  end: number;
}

/** @returns the records before the first one that cannot be read, and what is wrong with that one */
function parseOn(
  bytes: Buffer,
  { delimiter }: FileFormat,
  max: number,
): { records: ParsedRecord[]; stoppedBy?: 'open quote' | 'stray quote' } {
  const records: ParsedRecord[] = [];
  const take = (fields: Buffer[], info: { bytes: number; records: number; empty_lines: number }) => {
    records.push({ fields, place: info.records - 1 + info.empty_lines, end: info.bytes });
  };
  try {
    parse(bytes, { ...parsing, delimiter, to: max, on_record: take as never });
    return { records };
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    return { records, stoppedBy: error.code === 'CSV_QUOTE_NOT_CLOSED' ? 'open quote' : 'stray quote' };
  }
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

function passEmptyLines(bytes: Buffer, end: number, read: ReadRows): void {
  for (;;) {
    const at = bytes[read.consumed] === carriageReturn ? read.consumed + 1 : read.consumed;
    if (at >= end || bytes[at] !== lineFeed) return;
    read.consumed = at + 1;
    read.nextRow += 1;
  }
}

/** @returns undefined for a line of blanks and delimiters, as spreadsheets leave them behind */
function rowOf(
  fields: readonly Buffer[],
  format: FileFormat,
  row: number,
  wanted: readonly ImportColumn[],
): FileRow | undefined {
  if (fields.every((field) => field.every((byte) => byte === 0x20 || byte === 0x09))) return undefined;
  if (fields.length !== format.columns) return { row, fault: { code: 'wrong_column_count' } };
  const person: Person = { email: '', name: '' };
  for (const column of wanted) {
    const judged = judge(column, fields[format[column]]);
    if (typeof judged !== 'string') return { row, fault: judged };
    person[column] = judged;
  }
  return { row, person };
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** @returns the value in its one form, or what is wrong with it */
function judge(column: ImportColumn, field: Buffer | undefined): string | RowFault {
  let text: string;
  try {
    text = utf8.decode(field);
  } catch {
    return { code: 'not_utf8', column };
  }
  if (text.includes('\0')) return { code: 'invalid_character', column };
  // An address is judged before it is folded: folding makes a plain k of the Kelvin sign.
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
