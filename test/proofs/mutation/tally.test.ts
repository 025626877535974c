import { expect } from 'chai';
import { aboutHung, mutationLine, resultOf, shareOf, tallyOf } from './tally.ts';

describe('the summary of a mutation run', () => {
  it('counts a change as killed if a loop reaches the hit limit, and as hung if the test times out', () => {
    expect(resultOf({ status: 'Killed' })).to.equal('killed');
    expect(resultOf({ status: 'Timeout', statusReason: 'Hit limit reached (501/500)' })).to.equal('killed');
    expect(resultOf({ status: 'Timeout' })).to.equal('hung');
    expect(resultOf({ status: 'Survived' })).to.equal('survived');
    expect(resultOf({ status: 'NoCoverage' })).to.equal('survived');
    for (const status of ['RuntimeError', 'CompileError', 'Ignored'] as const)
      expect(resultOf({ status })).to.equal('invalid');
  });

  it('does not count hung or invalid changes', () => {
    const results = ['killed', 'killed', 'killed', 'survived', 'hung', 'invalid'] as const;
    const tally = tallyOf(results.map((result) => ({ result, line: `the line of ${result}` })));
    expect(mutationLine([tally, tally])).to.equal('mutants 8, killed 6, survived 2, score 0.75');
    expect(aboutHung(tally.hung)).to.match(/^1 change\(s\) hung and were stopped[^]*\nthe line of hung\n/);
  });

  it('has the score 1 without changes', () => {
    expect(shareOf([])).to.equal(1);
  });
});
