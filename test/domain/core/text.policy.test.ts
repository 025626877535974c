import { expect } from 'chai';
import fc from 'fast-check';
import { foldEmail, likePattern, tidyName } from '../../../domain/core/text.policy.ts';
import { testDatabase } from '../../toolkit/stack/database.ts';

describe('foldEmail', () => {
  it('ignores case, surrounding blanks and the composition of accents', () => {
    expect(foldEmail(' Ada@EXAMPLE.com ')).to.equal('ada@example.com');
    expect(foldEmail('Zoe\u0308@example.com')).to.equal(foldEmail('ZO\u00cb@example.com'));
  });

  it('gives the same result when applied twice', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (email) => {
        expect(foldEmail(foldEmail(email))).to.equal(foldEmail(email));
      }),
      { numRuns: 5_000 },
    );
  });

  it('keeps dots and tags, which make different addresses', () => {
    expect(foldEmail('a.da+x@example.com')).to.equal('a.da+x@example.com');
  });
});

describe('tidyName', () => {
  it('keeps letters and case, composes accents, and makes white space single blanks', () => {
    expect(tidyName(' \t Ada\u00a0\u2003 de\nLove-lace ')).to.equal('Ada de Love-lace');
    expect(tidyName('Zoe\u0308')).to.equal('Zo\u00eb');
  });
});

describe('likePattern', () => {
  it('makes ILIKE in Postgres find a text literally', async () => {
    const source = await testDatabase();
    const letters = fc.string({ unit: fc.constantFrom('a', 'B', '%', '_', '\\', "'", ' '), maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(letters, letters, async (text, search) => {
        const [row] = await source.query<{ found: boolean }[]>(`SELECT $1::text ILIKE $2 AS found`, [
          text,
          likePattern(search),
        ]);
        expect(row?.found).to.equal(text.toLowerCase().includes(search.toLowerCase()));
      }),
      { numRuns: 200 },
    );
  });
});
