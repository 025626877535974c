import { expect } from 'chai';
import fc from 'fast-check';
import { readFrom, shortly } from '../../../toolkit/drive/extracting.ts';
import { readAs, textsAs } from '../../../toolkit/drive/reading.ts';

describe('a CSV file', () => {
  for (const { what, csv, texts } of [
    {
      what: 'keeps empty fields',
      csv: 'Knot,Use,Minutes\nBowline,,60\n,Mooring,5\n',
      texts: ['Knot | Use | Minutes', 'Bowline | | 60', '| Mooring | 5'],
    },
    {
      what: 'recognizes semicolons, even if numbers have decimal commas',
      csv: 'name;price\r\nSailing;1,5\r\nRowing;2,5',
      texts: ['name | price', 'Sailing | 1,5', 'Rowing | 2,5'],
    },
    { what: 'recognizes tabs', csv: 'name\tprice\nSailing, at sea\t1', texts: ['name | price', 'Sailing, at sea | 1'] },
    {
      what: 'uses the delimiter that the first line specifies',
      csv: 'sep=;\na,b;c\n1,2;3',
      texts: ['a,b | c', '1,2 | 3'],
    },
    {
      what: 'reads quoted values with delimiters, line breaks and quotes inside',
      csv: '\uFEFFa,b\n"1, 2","x\ny ""z"""\n',
      texts: ['a | b', '1, 2 | x y "z"'],
    },
    {
      what: 'keeps the rows after a quote that is not closed',
      csv: 'a,b\n"open,1\nc,d',
      texts: ['a | b', '"open | 1', 'c | d'],
    },
    {
      what: 'keeps rows that have fewer or more values than the first row',
      csv: 'a,b\n1\n2,3,4',
      texts: ['a | b |', '1 | |', '2 | 3 | 4'],
    },
    { what: 'reads one column as a list', csv: 'Knots\nReef\nEight', texts: ['Knots', 'Reef', 'Eight'] },
  ])
    // prettier-ignore
    it(what, async () => expect(await textsAs('csv', csv)).to.deep.equal(texts));

  it('uses its first row as header, even if this row contains a number', async () => {
    const { sections } = await readAs('csv', 'Country,2026\nPortugal,5');
    expect(sections[0]?.paragraphs).to.deep.equal([
      { text: 'Country | 2026', kind: 'row' },
      { text: 'Portugal | 5', kind: 'row', header: 'Country | 2026' },
    ]);
  });

  it('begins each passage with the header', async () => {
    const rows = Array.from({ length: 60 }, (_, at) => `Knot number ${at};${at}`);
    const read = await readFrom(`Knot;Minutes\n${rows.join('\n')}`, { says: 'text/csv' });
    const blocks = shortly(read).map((passage) => passage.blocks);
    expect(blocks.length).to.be.above(2);
    expect(blocks.map(([first]) => first)).to.deep.equal(blocks.map(() => 'Knot | Minutes'));
    expect(blocks.flatMap(([, ...others]) => others)).to.deep.equal(rows.map((row) => row.replace(';', ' | ')));
  });

  it('keeps each value in its column, for tables of any shape', async () => {
    const value = fc.stringMatching(/^[a-z,;"\n]{0,6}$/);
    const tables = fc
      .integer({ min: 2, max: 6 })
      .chain((width) =>
        fc.array(fc.array(value, { minLength: width, maxLength: width }), { minLength: 1, maxLength: 20 }),
      );
    const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
    await fc.assert(
      fc.asyncProperty(tables, fc.constantFrom(',', ';', '\t'), async (values, delimiter) => {
        const header = values[0]?.map((_, at) => `Column${at}`) ?? [];
        const csv = [header, ...values].map((cells) => cells.map(quoted).join(delimiter)).join('\r\n');
        const found = (await textsAs('csv', csv)).map((line) => ` ${line} `.split('|').map((cell) => cell.trim()));
        const tidyRows = values.map((cells) => cells.map((cell) => cell.replace(/\s+/g, ' ').trim()));
        expect(found).to.deep.equal([header, ...tidyRows.filter((cells) => cells.some((cell) => cell !== ''))]);
      }),
    );
  });
});
