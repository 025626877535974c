/** Reads the first line of an imported file, and finds the delimiter and the columns with e-mail addresses and names. */
import { CsvError, parse } from 'csv-parse/sync';
import { DomainError } from '../../../platform/core/errors.ts';
import type { FileFormat, ImportColumn } from '../../../entities/access/values.ts';
import { importRules } from './imports.policy.ts';

export interface Header {
  format: FileFormat;
  ignoredColumns: string[];
  /** The position of the first row after the header, in bytes from the beginning of the file. */
  end: number;
  /** The number of the first row after the header. The first line of the file is 1. */
  nextRow: number;
}

const delimiters = [',', ';', '\t'] as const;
/** The columns of an import of students. */
export const studentColumns: readonly ImportColumn[] = ['email', 'name'];
const byteOrderMark = [0xef, 0xbb, 0xbf];
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * @param isWhole whether these bytes are the whole file
 * @param requiredColumns the columns that the file must have
 * @throws DomainError invalid_request (422): the header line cannot be read, or lacks a required column
 */
export function readHeader(
  head: Buffer,
  isWhole: boolean,
  requiredColumns: readonly ImportColumn[] = studentColumns,
): Header {
  requireUtf8(head);
  const start = byteOrderMark.every((byte, index) => head[index] === byte) ? byteOrderMark.length : 0;
  const candidates = delimiters.flatMap((delimiter) => headerBy(delimiter, head, start, isWhole) ?? []);
  if (candidates.length === 0) throw headerProblem('its quotes do not close');
  const complete = candidates.find(({ names }) => requiredColumns.every((column) => names.includes(column)));
  if (!complete) {
    const missing =
      requiredColumns.find((column) => !candidates.some(({ names }) => names.includes(column))) ?? 'email';
    throw headerProblem(
      `it has no column ${missing}. Name the columns, and separate them by a comma, a semicolon or a tab`,
    );
  }
  const { names, delimiter, end, nextRow } = complete;
  const duplicate = requiredColumns.find((column) => names.indexOf(column) !== names.lastIndexOf(column));
  if (duplicate !== undefined) throw headerProblem(`it has the column ${duplicate} twice`);
  return {
    format: { delimiter, columns: names.length, email: names.indexOf('email'), name: names.indexOf('name') },
    ignoredColumns: complete.originalNames
      .filter((_, index) => !requiredColumns.some((column) => column === names[index]))
      .slice(0, importRules.ignoredColumns)
      .map((name) => Array.from(name).slice(0, importRules.ignoredColumnCharacters).join('')),
    end,
    nextRow,
  };
}

/** Refuses UTF-16 and other files with NUL bytes in the first line, because they would give thousands of meaningless rows. */
function requireUtf8(head: Buffer): void {
  const mark = head.toString('hex', 0, 2);
  const firstLine = head.includes('\n') ? head.subarray(0, head.indexOf('\n')) : head;
  if (mark === 'feff' || mark === 'fffe' || firstLine.includes(0)) {
    throw new DomainError('invalid_request', 'The file is UTF-16, or is not text. Send text in UTF-8.');
  }
}

interface Candidate {
  delimiter: string;
  /** In lower case. */
  names: string[];
  originalNames: string[];
  end: number;
  nextRow: number;
}

/** @returns undefined if the quotes of the line are invalid with this delimiter @throws DomainError invalid_request */
function headerBy(delimiter: string, head: Buffer, start: number, isWhole: boolean): Candidate | undefined {
  const line = head.subarray(start);
  if (!isWhole && !line.includes('\n')) throw headerProblem(`it is longer than ${importRules.headBytes} bytes`);
  let candidate: Candidate | undefined;
  const readRecord = (fields: Buffer[], { bytes, empty_lines: empty }: { bytes: number; empty_lines: number }) => {
    const originalNames = fields.map((field) => textOf(field).normalize('NFC').trim());
    const names = originalNames.map((name) => name.toLowerCase());
    candidate = { delimiter, names, originalNames: originalNames, end: start + bytes, nextRow: empty + 2 };
  };
  try {
    parse(line, { ...parsing, delimiter, to: 1, on_record: readRecord as never });
  } catch (error) {
    if (error instanceof CsvError) return undefined;
    throw error;
  }
  if (!candidate) throw headerProblem('the file is empty');
  return candidate;
}

/** The options for parsing every part of a file. Fields stay bytes, so that invalid UTF-8 is detected and not repaired. */
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
