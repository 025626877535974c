/** The first line of an imported file: its delimiter, and where e-mail and name stand. */
import { CsvError, parse } from 'csv-parse/sync';
import { DomainError } from '../../../platform/core/errors.ts';
import type { FileFormat, ImportColumn } from '../../../entities/access/values.ts';
import { importRules } from './imports.policy.ts';

export interface Header {
  format: FileFormat;
  ignoredColumns: string[];
  /** Where the first row after it begins, in bytes from the beginning of the file. */
  end: number;
  /** The number of that row, the first line of the file being 1. */
  nextRow: number;
}

const delimiters = [',', ';', '\t'] as const;
/** The columns of an import of students. */
export const studentColumns: readonly ImportColumn[] = ['email', 'name'];
const byteOrderMark = [0xef, 0xbb, 0xbf];
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * @param head the first bytes of the file
 * @param isWhole whether they are all of it
 * @param wanted the columns that it must have
 * @throws DomainError invalid_request (422): no readable header line, or one without a wanted column
 */
export function readHeader(head: Buffer, isWhole: boolean, wanted: readonly ImportColumn[] = studentColumns): Header {
  requireUtf8(head);
  const start = byteOrderMark.every((byte, place) => head[place] === byte) ? byteOrderMark.length : 0;
  const candidates = delimiters.flatMap((delimiter) => headerBy(delimiter, head, start, isWhole) ?? []);
  if (candidates.length === 0) throw headerProblem('its quotes do not close');
  const complete = candidates.find(({ names }) => wanted.every((column) => names.includes(column)));
  if (!complete) {
    const missing = wanted.find((column) => !candidates.some(({ names }) => names.includes(column))) ?? 'email';
    throw headerProblem(
      `its columns must be named, and separated by a comma, a semicolon or a tab: there is no ${missing}`,
    );
  }
  const { names, delimiter, end, nextRow } = complete;
  const twice = wanted.find((column) => names.indexOf(column) !== names.lastIndexOf(column));
  if (twice !== undefined) throw headerProblem(`the column ${twice} stands in it twice`);
  return {
    format: { delimiter, columns: names.length, email: names.indexOf('email'), name: names.indexOf('name') },
    ignoredColumns: complete.written
      .filter((_, place) => !wanted.some((column) => column === names[place]))
      .slice(0, importRules.ignoredColumns)
      .map((name) => Array.from(name).slice(0, importRules.ignoredColumnCharacters).join('')),
    end,
    nextRow,
  };
}

/** UTF-16, and whatever else begins with NUL bytes, would be thousands of rows that mean nothing. */
function requireUtf8(head: Buffer): void {
  const mark = head.toString('hex', 0, 2);
  const firstLine = head.includes('\n') ? head.subarray(0, head.indexOf('\n')) : head;
  if (mark === 'feff' || mark === 'fffe' || firstLine.includes(0)) {
    throw new DomainError('invalid_request', 'The file must be text in UTF-8: this is UTF-16, or is not text.');
  }
}

interface Candidate {
  delimiter: string;
  /** In lower case. */
  names: string[];
  /** As they stand there. */
  written: string[];
  end: number;
  nextRow: number;
}

/** @returns undefined where the quotes make no sense with this delimiter @throws DomainError invalid_request */
function headerBy(delimiter: string, head: Buffer, start: number, isWhole: boolean): Candidate | undefined {
  const line = head.subarray(start);
  if (!isWhole && !line.includes('\n')) throw headerProblem(`it is longer than ${importRules.headBytes} bytes`);
  let found: Candidate | undefined;
  const take = (fields: Buffer[], { bytes, empty_lines: empty }: { bytes: number; empty_lines: number }) => {
    const written = fields.map((field) => textOf(field).normalize('NFC').trim());
    const names = written.map((name) => name.toLowerCase());
    found = { delimiter, names, written, end: start + bytes, nextRow: empty + 2 };
  };
  try {
    parse(line, { ...parsing, delimiter, to: 1, on_record: take as never });
  } catch (error) {
    if (error instanceof CsvError) return undefined;
    throw error;
  }
  if (!found) throw headerProblem('the file is empty');
  return found;
}

/** How every part of a file is read. Fields stay bytes, so that text which is not UTF-8 is seen, and not mended. */
export const parsing = {
  encoding: null,
  record_delimiter: ['\r\n', '\n'],
  relax_column_count: true,
  skip_empty_lines: true,
};

function textOf(field: Buffer): string {
  try {
    return utf8.decode(field);
  } catch {
    throw headerProblem('it is not UTF-8');
  }
}

function headerProblem(what: string): DomainError {
  return new DomainError('invalid_request', `The file's header line cannot be used: ${what}.`);
}
