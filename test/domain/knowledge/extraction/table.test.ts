import { expect } from 'chai';
import fc from 'fast-check';
import { SectionBuilder, type Paragraph } from '../../../../domain/knowledge/extraction/sections.ts';
import { TableBuilder } from '../../../../domain/knowledge/extraction/table.ts';
import { cutPassages } from '../../../../domain/knowledge/indexing/passages.policy.ts';

interface Given {
  text: string;
  colspan?: number;
  rowspan?: number;
}

function read(rows: (string | Given)[][], headerRows = 0): Paragraph[] {
  const into = new SectionBuilder();
  const table = new TableBuilder();
  for (const [at, row] of rows.entries()) {
    table.row(at < headerRows);
    for (const cell of row) {
      const { text, ...spans } = typeof cell === 'string' ? { text: cell } : cell;
      table.cell(text, spans);
    }
  }
  table.end(into);
  return into.end().flatMap(({ paragraphs }) => paragraphs);
}

const textsOf = (rows: (string | Given)[][], headerRows?: number) => read(rows, headerRows).map(({ text }) => text);

describe('a table in a file', () => {
  it('keeps the column of each cell beside empty cells', () => {
    expect(textsOf([['Knot', 'Use', 'Minutes'], ['Bowline', '', '60'], ['', 'Mooring', '5']])).to.deep.equal([
      'Knot | Use | Minutes',
      'Bowline | | 60',
      '| Mooring | 5',
    ]); // prettier-ignore
  });

  it('repeats the words of a cell in each row and column that the cell spans', () => {
    const rows = [
      ['Day', 'Morning', 'Evening'],
      [{ text: 'Monday', rowspan: 2 }, 'Knots', 'Sails'],
      [{ text: 'Closed', colspan: 2 }],
      ['Tuesday', { text: 'Rowing', rowspan: 2, colspan: 2 }],
      ['Wednesday'],
    ];
    expect(textsOf(rows)).to.deep.equal([
      'Day | Morning | Evening',
      'Monday | Knots | Sails',
      'Monday | Closed | Closed',
      'Tuesday | Rowing | Rowing',
      'Wednesday | Rowing | Rowing',
    ]);
  });

  it('contains the words of a cell once, even if the cell spans the whole row', () => {
    expect(textsOf([['a', 'b'], [{ text: 'Prices of 2027', colspan: 2 }], ['c', 'd']])).to.deep.equal([
      'a | b',
      'Prices of 2027',
      'c | d',
    ]);
  });

  it('omits rows and columns without words, and becomes a list if only one column remains', () => {
    expect(textsOf([['', ''], ['a', ''], ['b', '']])).to.deep.equal(['a', 'b']); // prettier-ignore
    expect(textsOf([])).to.deep.equal([]);
  });

  it('escapes a bar inside a cell, because a bar marks the border of a column', () => {
    expect(textsOf([['a | b', 'c']])).to.deep.equal([String.raw`a \| b | c`]);
  });

  it('uses the marked rows as header, and joins several header rows by column', () => {
    const rows = [
      ['Course', { text: 'Price', colspan: 2 }],
      ['', 'EUR', 'USD'],
      ['Sailing', '90', '100'],
    ];
    expect(read(rows, 2).at(-1)).to.deep.equal({
      text: 'Sailing | 90 | 100',
      kind: 'row',
      header: 'Course | Price EUR | Price USD',
    });
  });

  it('uses the first row as header if every cell of it has letters', () => {
    expect(read([['Knot', 'Minutes'], ['Bowline', '2']]).at(-1)?.header).to.equal('Knot | Minutes'); // prettier-ignore
    expect(read([['Knot', '12'], ['Bowline', '2']]).at(-1)?.header).to.equal(undefined); // prettier-ignore
    expect(read([['Knot', ''], ['Bowline', '2']]).at(-1)?.header).to.equal(undefined); // prettier-ignore
    expect(read([['x'.repeat(150), 'y'.repeat(150)], ['a', 'b']]).at(-1)?.header).to.equal(undefined); // prettier-ignore
  });

  it('is rejected as too large if its cells span millions of positions', () => {
    const table = new TableBuilder();
    const fill = () => {
      for (let row = 0; row < 3_000; row++) {
        table.row();
        if (row === 0) table.cell('a', { colspan: 1_000_000, rowspan: 1_000_000 });
      }
    };
    expect(fill).to.throw('too_large');
  });

  it('keeps each value in its row and under its header', () => {
    const value = fc.stringMatching(/^[a-z]{0,6}$/);
    const tables = fc
      .integer({ min: 2, max: 6 })
      .chain((width) =>
        fc.array(fc.array(value, { minLength: width, maxLength: width }), { minLength: 1, maxLength: 80 }),
      );
    fc.assert(
      fc.property(tables, (values) => {
        const header = values[0]?.map((_, column) => `Column${column}`) ?? [];
        const into = new SectionBuilder();
        const table = new TableBuilder();
        for (const row of [header, ...values]) {
          table.row(row === header);
          for (const cell of row) table.cell(cell);
        }
        table.end(into);
        const found = [...cutPassages(into.end(), 'en')].flatMap(({ text }) => {
          const [first, ...rows] = text.split('\n');
          expect(first).to.equal(header.join(' | '));
          return rows.map((row) => ` ${row} `.split('|').map((cell) => cell.trim()));
        });
        expect(found).to.deep.equal(values.filter((row) => row.some((cell) => cell !== '')));
      }),
    );
  });
});
