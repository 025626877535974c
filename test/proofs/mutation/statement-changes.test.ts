import { expect } from 'chai';
import { changesOf } from './statement-changes.ts';
import { spread } from './statement-runs.ts';

/** The file with each change made. */
const changed = (source: string) =>
  changesOf(source).map(({ start, end, text }) => source.slice(0, start) + text + source.slice(end));

describe('changes of statements', () => {
  it('leave a condition out, and turn a comparison, a lock and a count', () => {
    const statement = 'sql`UPDATE rows SET fence = fence + 1 WHERE id = ${id} AND at <= now() FOR UPDATE SKIP LOCKED`';
    expect(changed(statement)).to.deep.equal([
      statement.replace(' + 1', ''),
      statement.replace('WHERE id = ${id}', 'WHERE TRUE'),
      statement.replace('AND at <= now()', 'AND TRUE'),
      statement.replace('<=', '<'),
      statement.replace(' FOR UPDATE', ''),
      statement.replace(' SKIP LOCKED', ''),
    ]);
  });

  it('leave no numbered parameter out: Postgres would refuse the statement for that', () => {
    const statement = 'const text = `SELECT 1 FROM rows WHERE id = $1 AND (at IS NULL OR at < $2)`';
    expect(changed(statement)).to.deep.equal([
      statement.replace('WHERE id = $1', 'WHERE (id = $1 OR TRUE)'),
      statement.replace('OR at < $2', 'OR (at < $2 AND FALSE)'),
      statement.replace('<', '<='),
    ]);
  });

  it('decide a condition both ways, leave a call out, and turn an operator', () => {
    expect(changed('if (a === b) go();')).to.deep.equal([
      'if (true) go();',
      'if (false) go();',
      'if (a !== b) go();',
      'if (a === b) ;',
    ]);
  });

  it('change no text that is no SQL', () => {
    expect(changed('const words = `Hello ${name}`;')).to.deep.equal([]);
  });

  it('are spread evenly where a sample is asked for', () => {
    const all = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
    expect([spread(all), spread(all, 2), spread(all, 5), spread(all, 20)]).to.deep.equal([
      all,
      [0, 5],
      [0, 2, 4, 6, 8],
      all,
    ]);
  });
});
