import { expect } from 'chai';
import pg from 'pg';
import { writeTogether } from '../../../../platform/infra/postgres/write-together.ts';

describe('writing rows of several callers in one statement', () => {
  const ended = (code: string) => Object.assign(new pg.DatabaseError(code, 0, 'error'), { code });
  const refusal = ended('22021');
  /** The statement fails if it contains any of the bad items. */
  const written = async (items: readonly number[], bad: readonly number[], error: Error = refusal) => {
    const statements: number[][] = [];
    const ends = await writeTogether(items, async (some) => {
      statements.push([...some]);
      if (some.some((item) => bad.includes(item))) throw error;
      return some.map((item) => item * 10);
    });
    return { statements, ends: ends.map((end) => ('error' in end ? 'refused' : end.result)) };
  };

  it('writes all rows in one statement if no item fails', async () => {
    expect(await written([1, 2, 3], [])).to.deep.equal({ statements: [[1, 2, 3]], ends: [10, 20, 30] });
    expect((await written([], [])).ends).to.deep.equal([]);
  });

  it('splits a failed batch in halves until only the faulty item fails', async () => {
    expect(await written([1, 2, 3, 4, 5], [2])).to.deep.equal({
      statements: [[1, 2, 3, 4, 5], [1, 2, 3], [1, 2], [1], [2], [3], [4, 5]],
      ends: [10, 'refused', 30, 40, 50],
    });
    expect((await written([1, 2, 3, 4], [1, 4])).ends).to.deep.equal(['refused', 20, 30, 'refused']);
  });

  it('fails all items if no single item causes the failure', async () => {
    const away = ended('57P01');
    const failed: unknown = await written([1, 2], [2], away).catch((error: unknown) => error);
    expect(failed).to.have.property('code', '57P01');
  });
});
