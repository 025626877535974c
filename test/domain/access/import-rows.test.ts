/** What the rows of hostile files come to: each case with its exact report, however the file is cut into pieces. */
import { expect } from 'chai';
import fc from 'fast-check';
import { readHeader } from '../../../domain/access/import-header.ts';
import { readRows, type FileRow } from '../../../domain/access/import-rows.ts';

/** Reads a whole file as the step does: a piece of so many bytes at a time, and of each so many rows. */
function readFile(file: Buffer, { pieceBytes = 128 * 1_024, most = 500 } = {}): FileRow[] {
  const { format, end, nextRow } = readHeader(file.subarray(0, 65_536), file.length <= 65_536);
  const rows: FileRow[] = [];
  let [cursor, row] = [end, nextRow];
  while (cursor < file.length) {
    const bytes = file.subarray(cursor, cursor + pieceBytes);
    const isLast = cursor + pieceBytes >= file.length;
    const read = readRows({ bytes, isLast }, format, row, most);
    expect(read.consumed, 'the reading goes on').to.be.above(0);
    rows.push(...read.rows);
    cursor += read.consumed;
    row = read.nextRow;
    if (read.endsInsideQuotes) break;
    if (read.endsInsideLine) cursor = file.indexOf('\n', cursor) + 1 || file.length;
  }
  return rows;
}

/** `2 ada@example.com Ada`, `3 email_invalid email`. */
const short = (row: FileRow) =>
  'person' in row
    ? `${row.row} ${row.person.email} ${row.person.name}`
    : [row.row, row.fault.code, row.fault.column].filter(Boolean).join(' ');

const header = 'email,name\n';
const good = (row: number, letter: string) => `${row} ${letter}@x.com ${letter}`;

interface Case {
  what: string;
  file: string | Buffer;
  report: string[];
}

const cases: Case[] = [
  { what: 'a byte-order mark', file: '\ufeffemail,name\na@x.com,a\n', report: [good(2, 'a')] },
  { what: 'semicolons', file: 'email;name\na@x.com;a, b\n', report: ['2 a@x.com a, b'] },
  { what: 'tabs', file: 'email\tname\na@x.com\ta;b,c\n', report: ['2 a@x.com a;b,c'] },
  { what: 'CRLF', file: 'email,name\r\na@x.com,a\r\nb@x.com,b\r\n', report: [good(2, 'a'), good(3, 'b')] },
  { what: 'no line break at the end', file: `${header}a@x.com,a`, report: [good(2, 'a')] },
  { what: 'nothing but a header', file: 'email,name', report: [] },
  { what: 'names of columns in any order and case', file: 'NAME,x, Email \na,1,a@x.com\n', report: [good(2, 'a')] },
  {
    what: 'quotes, also in the header',
    file: '"email","name"\n"a@x.com","a ""b"", c"\n',
    report: ['2 a@x.com a "b", c'],
  },
  {
    what: 'a line break in quotes',
    file: `${header}a@x.com,"a\nb"\nc@x.com,c\n`,
    report: ['2 a@x.com a b', good(3, 'c')],
  },
  {
    what: 'empty lines and lines of delimiters: passed over, and counted',
    file: `\n\n${header}\n\na@x.com,a\n,\n \t,  \n\r\nb@x.com,b\n\n\n`,
    report: [good(6, 'a'), good(10, 'b')],
  },
  { what: 'case and blanks of e-mails and names', file: `${header} A@X.com ,  a \t b \n`, report: ['2 a@x.com a b'] },
  {
    what: 'bad e-mails',
    file: `${header},a\n  ,a\nnone,a\na@x,a\na b@x.com,a\n${'a'.repeat(249)}@x.com,a\na@x.com,a\n`,
    report: [
      '2 email_missing email',
      '3 email_missing email',
      ...['4', '5', '6', '7'].map((row) => `${row} email_invalid email`),
      good(8, 'a'),
    ],
  },
  {
    what: 'bad names',
    file: `${header}a@x.com,\na@x.com,\u00a0\na@x.com,${'é'.repeat(121)}\na@x.com,${'🎓'.repeat(120)}\n`,
    report: ['2 name_missing name', '3 name_missing name', '4 name_too_long name', `5 a@x.com ${'🎓'.repeat(120)}`],
  },
  {
    what: 'the wrong number of columns',
    file: `${header}a@x.com\na@x.com,a,\na@x.com,a\n`,
    report: ['2 wrong_column_count', '3 wrong_column_count', good(4, 'a')],
  },
  {
    what: 'a quote that nobody closes: costs its line alone',
    file: `${header}a@x.com,a\n"b@x.com,b\nc@x.com,c\nd@x.com,d`,
    report: [good(2, 'a'), '3 broken_quotes', good(4, 'c'), good(5, 'd')],
  },
  {
    what: 'a quote that another row’s quote seems to close',
    file: `${header}"b@x.com,b\n"c@x.com",c\nd@x.com,d\n`,
    report: ['2 broken_quotes', good(3, 'c'), good(4, 'd')],
  },
  {
    what: 'quotes inside of values',
    file: `${header}a@x.com,a"b\nb@x.com,"b"b\nc@x.com,c\n`,
    report: ['2 broken_quotes', '3 broken_quotes', good(4, 'c')],
  },
  {
    what: 'an open quote in the last line',
    file: `${header}a@x.com,a\n\n\nb@x.com,"b`,
    report: [good(2, 'a'), '5 broken_quotes'],
  },
  {
    what: 'text that is not UTF-8, and NUL bytes, in the columns that are read',
    file: Buffer.from(`${header}a@x.com,Ren\xe9\nb\xff@x.com,b\nc@x.com,c\0\nd@x.com,d\n`, 'latin1'),
    report: ['2 not_utf8 name', '3 not_utf8 email', '4 invalid_character name', good(5, 'd')],
  },
  {
    what: 'columns that are passed over may hold anything',
    file: Buffer.from('email,note,name\na@x.com,Ren\xe9,a\nb@x.com,"x,\n""y""",b\n', 'latin1'),
    report: [good(2, 'a'), good(3, 'b')],
  },
  {
    what: 'a line longer than a piece',
    file: `${header}a@x.com,a\n${'b'.repeat(300_000)}@x.com,b\nc@x.com,c\n`,
    report: [good(2, 'a'), '3 row_too_long', good(4, 'c')],
  },
  {
    what: 'a line longer than a piece at the end',
    file: `${header}a@x.com,a\n${'b'.repeat(300_000)}`,
    report: [good(2, 'a'), '3 row_too_long'],
  },
];

describe('the rows of a file', () => {
  for (const { what, file, report } of cases) {
    it(what, () => {
      expect(readFile(Buffer.from(file as string)).map(short)).to.deep.equal(report);
    });
  }

  it('a row longer than a piece, of lines in quotes: none of its lines is a row, and nothing after it is read', () => {
    for (const long of ['y@x.com,y,y\n'.repeat(20_000), `${'y'.repeat(200_000)}\ny@x.com,y,y\n`]) {
      const file = `email,name,x\nb@x.com,b,\na@x.com,a,"${long}"\nc@x.com,c,\n`;
      expect(readFile(Buffer.from(file)).map(short)).to.deep.equal([good(2, 'b'), '3 row_too_long']);
    }
  });

  it('are the same however many are taken at a time', () => {
    for (const { file, report, what } of cases) {
      for (const most of [1, 2, 3]) {
        expect(readFile(Buffer.from(file as string), { most }).map(short), what).to.deep.equal(report);
      }
    }
  });

  it('are the same wherever the file is cut, as long as a piece holds the longest row', () => {
    const plain = ['a@x.com', 'b@x.com', 'a', '', 'é'];
    const quoted = [...plain, '"q,\n""q"', '"', 'x"y', '"a@x.com"'];
    const fileOf = (fields: readonly string[]) => {
      const field = fc.constantFrom(...fields);
      const line = fc.array(field, { minLength: 1, maxLength: 3 }).map((row) => row.join(','));
      return fc
        .tuple(fc.array(line, { maxLength: 12 }), fc.constantFrom('\n', '\r\n'))
        .map(([lines, end]) => Buffer.from(['email,name', ...Array.from({ length: 7 }, () => lines).flat()].join(end)));
    };
    const batch = fc.integer({ min: 1, max: 4 });
    fc.assert(
      fc.property(fileOf(quoted), batch, (bytes, most) => {
        expect(readFile(bytes, { most }).map(short)).to.deep.equal(readFile(bytes).map(short));
      }),
      { numRuns: 300 },
    );
    // Without quotes: one that is never closed makes a field longer than any piece. The longest row has 25 bytes.
    fc.assert(
      fc.property(fileOf(plain), batch, fc.integer({ min: 32, max: 100 }), (bytes, most, pieceBytes) => {
        expect(readFile(bytes, { most, pieceBytes }).map(short)).to.deep.equal(readFile(bytes).map(short));
      }),
      { numRuns: 300 },
    );
  });
});
