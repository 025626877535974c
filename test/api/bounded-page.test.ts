import { expect } from 'chai';
import { fitRows } from '../../api/bounded-page.ts';

describe('the size limit of a page of a list', () => {
  const bytesOf = (rows: unknown) => Buffer.byteLength(JSON.stringify(rows));

  it('does not change a page of up to 990,000 bytes', () => {
    const rows = Array.from({ length: 100 }, (_, id) => ({ id, body: 'x'.repeat(9_870) }));
    expect(bytesOf(rows)).to.be.within(980_000, 990_000);
    expect(fitRows(rows)).to.deep.equal({ rows, shortened: false });
    expect(fitRows([])).to.deep.equal({ rows: [], shortened: false });
  });

  it('shortens the longest texts until the page fits, but never shortens short texts', () => {
    const rows = Array.from({ length: 100 }, (_, id) => ({ id, title: 'x'.repeat(900), body: 'ß'.repeat(20_000) }));
    const fitting = fitRows(rows);
    expect(fitting.shortened).to.equal(true);
    expect(fitting.rows).to.deep.equal(rows.map((row) => ({ ...row, body: `${'ß'.repeat(2_000)}…` })));
    expect(bytesOf(fitting.rows)).to.be.below(1_000_000);
  });

  it('counts bytes of JSON, and never cuts a text inside a character', () => {
    for (const text of ['😀', '"', '\u0001', '\n']) {
      const rows = Array.from({ length: 100 }, () => ({ body: `-${text.repeat(20_000)}` }));
      const fitting = fitRows(rows);
      expect(bytesOf(fitting.rows)).to.be.below(1_000_000);
      expect(JSON.stringify(fitting.rows)).not.to.match(/\\ud[89a-f]/);
      expect(fitting.rows[0]?.body.endsWith('…')).to.equal(true);
    }
  });

  it('shortens lists inside rows, but never ids and addresses', () => {
    const url = `https://files.example.com/${'x'.repeat(2_000)}`;
    const row = {
      cover: { preview_url: url },
      tag_ids: Array.from({ length: 300 }, () => 'id'),
      body: 'x'.repeat(9_000),
    };
    const rows = Array.from({ length: 100 }, () => ({
      ...row,
      dates: Array.from({ length: 366 }, (_, day) => ({ day })),
    }));
    const [first] = fitRows(rows).rows;
    expect(first).to.deep.include({ cover: row.cover, tag_ids: row.tag_ids });
    expect(first?.dates.length).to.be.below(366);
    expect(first?.body).to.equal(`${'x'.repeat(first?.body.length === 5_001 ? 5_000 : 2_000)}…`);
  });
});
