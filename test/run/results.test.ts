import { expect } from 'chai';
import { closingLine, flakeReport, flakyTests, knownFlakes, mergedResults, type Results } from './results.ts';

const resultsOf = (...failures: string[]): Results => ({
  passed: 5,
  failed: failures.length,
  skipped: 0,
  failures: failures.map((title) => ({ title, file: 'a.test.ts', message: 'no answer' })),
});

describe('test/run/results', () => {
  it('calls a test flaky if the test fails only in the first run', () => {
    expect(flakyTests(resultsOf('one', 'other'), resultsOf('other'))).to.deep.equal(resultsOf('one').failures);
  });

  it('reports each flaky test with its failure, and with the known cause or the required action', () => {
    const { failures } = resultsOf('known', 'new');
    expect(flakeReport(failures, [{ title: 'known', cause: 'a slow clock' }])).to.deep.equal([
      'Flaky: known: no answer (a slow clock)',
      'Flaky: new: no answer (not in test/flakes.json yet: find the cause and mend it, or write it down there)',
    ]);
  });

  it('requires a cause for each flaky test in test/flakes.json', () => {
    expect(knownFlakes().filter(({ title, cause }) => !title || !cause)).to.deep.equal([]);
  });

  it('adds up the results of two runs', () => {
    const { failures, ...counts } = mergedResults(resultsOf('one'), { ...resultsOf('other'), skipped: 2 });
    expect(counts).to.deep.equal({ passed: 10, failed: 2, skipped: 2 });
    expect(failures.map(({ title }) => title)).to.deep.equal(['one', 'other']);
  });

  it('closes a run with `N passed, N failed`, and with the number of skipped tests unless it is 0', () => {
    expect(closingLine(resultsOf('one'))).to.equal('5 passed, 1 failed');
    expect(closingLine({ ...resultsOf(), skipped: 2 })).to.equal('5 passed, 0 failed, 2 skipped');
  });
});
