import { expect } from 'chai';
import { changesOf } from './statement-changes.ts';
import { spread } from './statement-runs.ts';

const changedSources = (source: string) =>
  changesOf(source).map(({ start, end, text }) => source.slice(0, start) + text + source.slice(end));

describe('changes of statements', () => {
  it('remove conditions, and change comparisons, locks and counts', () => {
    const statement = 'sql`UPDATE rows SET fence = fence + 1 WHERE id = ${id} AND at <= now() FOR UPDATE SKIP LOCKED`';
    expect(changedSources(statement)).to.deep.equal([
      statement.replace(' + 1', ''),
      statement.replace('WHERE id = ${id}', 'WHERE TRUE'),
      statement.replace('AND at <= now()', 'AND TRUE'),
      statement.replace('<=', '<'),
      statement.replace(' FOR UPDATE', ''),
      statement.replace(' SKIP LOCKED', ''),
    ]);
  });

  it('keep every numbered parameter, because Postgres would refuse a statement that lacks a parameter', () => {
    const statement = 'const text = `SELECT 1 FROM rows WHERE id = $1 AND (at IS NULL OR at < $2)`';
    expect(changedSources(statement)).to.deep.equal([
      statement.replace('WHERE id = $1', 'WHERE (id = $1 OR TRUE)'),
      statement.replace('OR at < $2', 'OR (at < $2 AND FALSE)'),
      statement.replace('<', '<='),
    ]);
  });

  it('change a condition in three ways, and remove a call', () => {
    expect(changedSources('if (a === b) go();')).to.deep.equal([
      'if (true) go();',
      'if (false) go();',
      'if (a !== b) go();',
      'if (a === b) ;',
    ]);
  });

  it('do not affect a text that is not SQL', () => {
    expect(changedSources('const words = `Hello ${name}`;')).to.deep.equal([]);
  });

  it('are chosen evenly for a sample', () => {
    const all = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
    expect([spread(all), spread(all, 2), spread(all, 5), spread(all, 20)]).to.deep.equal([
      all,
      [0, 5],
      [0, 2, 4, 6, 8],
      all,
    ]);
  });
});
