import { expect } from 'chai';
import { Problem } from '../../../dev/problem.ts';
import { soakArguments } from './arguments.ts';
import { compareFacts, together } from './tally.ts';

describe('the final check of the soak', () => {
  it('accepts results that all exist once', () => {
    expect(compareFacts('sale', ['a', 'b'], ['b', 'a'])).to.deep.equal({ facts: 2, lostFacts: [], twice: [] });
  });

  it('reports the keys of a lost result and of a repeated result', () => {
    expect(compareFacts('sale', ['a', 'b', 'c'], ['a', 'c', 'c'])).to.deep.equal({
      facts: 3,
      lostFacts: ['sale b'],
      twice: ['sale c: 2 times'],
    });
  });

  it('reports an action without an answer if it has two results', () => {
    expect(compareFacts('sale', [], ['a', 'a', 'b'])).to.deep.equal({
      facts: 0,
      lostFacts: [],
      twice: ['sale a: 2 times'],
    });
  });

  it('adds up the results of all kinds of actions', () => {
    const all = together([compareFacts('sale', ['a'], []), compareFacts('lesson', ['b'], ['b', 'b'])]);
    expect(all).to.deep.equal({ facts: 2, lostFacts: ['sale a'], twice: ['lesson b: 2 times'] });
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
    it(`refuses ${JSON.stringify(args)} and prints the usage`, () => {
      expect(() => soakArguments(args)).to.throw(Problem, /npm run prove -- soak --hours 2/);
    });
});
