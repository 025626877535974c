/** Tests the exact reports of broken and hostile files. */
import { expect } from 'chai';
import fc from 'fast-check';
import { readHeader } from '../../../../domain/access/imports/header.ts';
import { readRows, type FileRow } from '../../../../domain/access/imports/rows.ts';

/** Reads the file as the import step does: in pieces of `pieceBytes`, with at most `most` rows from each piece. */
function readFile(file: Buffer, { pieceBytes = 128 * 1_024, most = 500 } = {}): FileRow[] {
  const { format, end, nextRow } = readHeader(file.subarray(0, 65_536), file.length <= 65_536);
  const rows: FileRow[] = [];
  let [cursor, row] = [end, nextRow];
  while (cursor < file.length) {
    const bytes = file.subarray(cursor, cursor + pieceBytes);
    const isLast = cursor + pieceBytes >= file.length;
    const read = readRows({ bytes, isLast }, format, row, most);
    expect(read.consumed, 'each read consumes some bytes').to.be.above(0);
    rows.push(...read.rows);
    cursor += read.consumed;
    row = read.nextRow;
    if (read.endsInsideQuotes) break;
    if (read.endsInsideLine) cursor = file.indexOf('\n', cursor) + 1 || file.length;
  }
  return rows;
}

/** For example `2 ada@example.com Ada` or `3 email_invalid email`. */
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
  { what: 'semicolons as delimiters', file: 'email;name\na@x.com;a, b\n', report: ['2 a@x.com a, b'] },
  { what: 'tabs as delimiters', file: 'email\tname\na@x.com\ta;b,c\n', report: ['2 a@x.com a;b,c'] },
  { what: 'CRLF line ends', file: 'email,name\r\na@x.com,a\r\nb@x.com,b\r\n', report: [good(2, 'a'), good(3, 'b')] },
  { what: 'no line break at the end', file: `${header}a@x.com,a`, report: [good(2, 'a')] },
  { what: 'a header alone', file: 'email,name', report: [] },
  { what: 'column names in any order and case', file: 'NAME,x, Email \na,1,a@x.com\n', report: [good(2, 'a')] },
  {
    what: 'quoted values and a quoted header',
    file: '"email","name"\n"a@x.com","a ""b"", c"\n',
    report: ['2 a@x.com a "b", c'],
  },
  {
    what: 'a line break inside quotes',
    file: `${header}a@x.com,"a\nb"\nc@x.com,c\n`,
    report: ['2 a@x.com a b', good(3, 'c')],
  },
  {
    what: 'empty lines and lines of delimiters, which are skipped but counted',
    file: `\n\n${header}\n\na@x.com,a\n,\n \t,  \n\r\nb@x.com,b\n\n\n`,
    report: [good(6, 'a'), good(10, 'b')],
  },
  {
    what: 'upper case and blanks, which are normalized',
    file: `${header} A@X.com ,  a \t b \n`,
    report: ['2 a@x.com a b'],
  },
  {
    what: 'invalid e-mails',
    file: `${header},a\n  ,a\nnone,a\na@x,a\na b@x.com,a\n${'a'.repeat(249)}@x.com,a\na@x.com,a\n`,
    report: [
      '2 email_missing email',
      '3 email_missing email',
      ...['4', '5', '6', '7'].map((row) => `${row} email_invalid email`),
      good(8, 'a'),
    ],
  },
  {
    what: 'invalid names',
    file: `${header}a@x.com,\na@x.com,\u00a0\na@x.com,${'é'.repeat(121)}\na@x.com,${'🎓'.repeat(120)}\n`,
    report: ['2 name_missing name', '3 name_missing name', '4 name_too_long name', `5 a@x.com ${'🎓'.repeat(120)}`],
  },
  {
    what: 'the wrong number of columns',
    file: `${header}a@x.com\na@x.com,a,\na@x.com,a\n`,
    report: ['2 wrong_column_count', '3 wrong_column_count', good(4, 'a')],
  },
  {
    what: 'an unclosed quote, which makes only its own line invalid',
    file: `${header}a@x.com,a\n"b@x.com,b\nc@x.com,c\nd@x.com,d`,
    report: [good(2, 'a'), '3 broken_quotes', good(4, 'c'), good(5, 'd')],
  },
  {
    what: 'an unclosed quote that another row’s quote seems to close',
    file: `${header}"b@x.com,b\n"c@x.com",c\nd@x.com,d\n`,
    report: ['2 broken_quotes', good(3, 'c'), good(4, 'd')],
  },
  {
    what: 'quotes inside values',
    file: `${header}a@x.com,a"b\nb@x.com,"b"b\nc@x.com,c\n`,
    report: ['2 broken_quotes', '3 broken_quotes', good(4, 'c')],
  },
  {
    what: 'an unclosed quote in the last line',
    file: `${header}a@x.com,a\n\n\nb@x.com,"b`,
    report: [good(2, 'a'), '5 broken_quotes'],
  },
  {
    what: 'invalid UTF-8 and NUL bytes in columns that the import reads',
    file: Buffer.from(`${header}a@x.com,Ren\xe9\nb\xff@x.com,b\nc@x.com,c\0\nd@x.com,d\n`, 'latin1'),
    report: ['2 not_utf8 name', '3 not_utf8 email', '4 invalid_character name', good(5, 'd')],
  },
  {
    what: 'invalid bytes in columns that the import ignores',
    file: Buffer.from('email,note,name\na@x.com,Ren\xe9,a\nb@x.com,"x,\n""y""",b\n', 'latin1'),
    report: [good(2, 'a'), good(3, 'b')],
  },
  {
    what: 'a line that is longer than a piece',
    file: `${header}a@x.com,a\n${'b'.repeat(300_000)}@x.com,b\nc@x.com,c\n`,
    report: [good(2, 'a'), '3 row_too_long', good(4, 'c')],
  },
  {
    what: 'a line at the end that is longer than a piece',
    file: `${header}a@x.com,a\n${'b'.repeat(300_000)}`,
    report: [good(2, 'a'), '3 row_too_long'],
  },
];

/** A row of three values has at most 31 bytes, including its line break. */
const closedFields = ['a@x.com', 'b@x.com', 'a', '"q,\n""q"', '', 'é', '"a@x.com"'];

const fileOf = (field: fc.Arbitrary<string>, maxLines: number): fc.Arbitrary<Buffer> =>
  fc
    .tuple(
      fc.array(fc.array(field, { minLength: 1, maxLength: 3 }), { maxLength: maxLines, size: 'max' }),
      fc.constantFrom('\n', '\r\n'),
    )
    .map(([lines, end]) => Buffer.from(['email,name', ...lines.map((fields) => fields.join(','))].join(end)));

describe('the reader of an import file', () => {
  for (const { what, file, report } of cases) {
    it(`reads a file with ${what}`, () => {
      expect(readFile(Buffer.from(file as string)).map(short)).to.deep.equal(report);
    });
  }

  it('stops at a quoted row that is longer than a piece', () => {
    const values = {
      'short lines': 'y@x.com,y,y\n'.repeat(20_000),
      'a long line, then a short line': `${'y'.repeat(200_000)}\ny@x.com,y,y\n`,
    };
    for (const [name, value] of Object.entries(values)) {
      const file = `email,name,x\nb@x.com,b,\na@x.com,a,"${value}"\nc@x.com,c,\n`;
      expect(readFile(Buffer.from(file)).map(short), name).to.deep.equal([good(2, 'b'), '3 row_too_long']);
    }
  });

  it('returns the same rows for any number of rows in a batch', () => {
    for (const { file, report, what } of cases) {
      for (const most of [1, 2, 3]) {
        expect(readFile(Buffer.from(file as string), { most }).map(short), `${what}, ${most} a batch`).to.deep.equal(
          report,
        );
      }
    }
    const field = fc.constantFrom(...closedFields, '"', 'x"y');
    fc.assert(
      fc.property(fileOf(field, 84), fc.integer({ min: 1, max: 4 }), (file, most) => {
        expect(readFile(file, { most }).map(short)).to.deep.equal(readFile(file).map(short));
      }),
      { numRuns: 300 },
    );
  });

  it('returns the same rows for every piece size, if each piece can contain the longest row', () => {
    const most = fc.integer({ min: 1, max: 4 });
    const pieceBytes = fc.integer({ min: 32, max: 200 });
    fc.assert(
      fc.property(fileOf(fc.constantFrom(...closedFields), 40), most, pieceBytes, (file, batch, piece) => {
        const cut = readFile(file, { most: batch, pieceBytes: piece });
        expect(cut.map(short)).to.deep.equal(readFile(file).map(short));
      }),
      { numRuns: 300 },
    );
  });
});
