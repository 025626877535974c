import { expect } from 'chai';
import fc from 'fast-check';
import { likePattern } from '../../../../../platform/core/text/text.policy.ts';
import { testDatabase } from '../../../../toolkit/stack/database.ts';

describe('likePattern', () => {
  it('escapes a text so that ILIKE in Postgres finds it literally', async () => {
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
