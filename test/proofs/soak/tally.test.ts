import { expect } from 'chai';
import { Problem } from '../../../dev/problem.ts';
import { soakArguments } from './arguments.ts';
import { holdFacts, together } from './tally.ts';

describe('the tally of a soak', () => {
  it('finds nothing where each fact is there once', () => {
    expect(holdFacts('sale', ['a', 'b'], ['b', 'a'])).to.deep.equal({ facts: 2, lost: [], twice: [] });
  });

  it('reports a planted loss and a planted repetition, each by its key', () => {
    expect(holdFacts('sale', ['a', 'b', 'c'], ['a', 'c', 'c'])).to.deep.equal({
      facts: 3,
      lost: ['sale b'],
      twice: ['sale c: 2 times'],
    });
  });

  it('reports a repetition of what nobody was told of, too: its answer was lost', () => {
    expect(holdFacts('sale', [], ['a', 'a', 'b'])).to.deep.equal({ facts: 0, lost: [], twice: ['sale a: 2 times'] });
  });

  it('adds up all kinds', () => {
    const all = together([holdFacts('sale', ['a'], []), holdFacts('lesson', ['b'], ['b', 'b'])]);
    expect(all).to.deep.equal({ facts: 2, lost: ['sale a'], twice: ['lesson b: 2 times'] });
  });
});

describe('npm run prove -- soak', () => {
  it('takes hours', () => {
    expect(soakArguments(['--hours', '2'])).to.deep.equal({ hours: 2 });
    expect(soakArguments(['--hours=0.1'])).to.deep.equal({ hours: 0.1 });
  });

  for (const args of [
    [],
    ['--hours', 'x'],
    ['--hours', ''],
    ['--hours', '0'],
    ['--hours', '1e9'],
    ['2'],
    ['--days', '1'],
  ])
    it(`refuses ${JSON.stringify(args)}, and says what there is`, () => {
      expect(() => soakArguments(args)).to.throw(Problem, /npm run prove -- soak --hours 2/);
    });
});
