import { expect } from 'chai';
import { overBudget } from './timings.ts';

describe('test/run/timings', () => {
  it('allows a file to take three times its committed seconds plus five seconds', () => {
    expect(overBudget({ a: 11, b: 11.1 }, { a: 2, b: 2 })).to.deep.equal(['b took 11.1 s; its budget is 11.0 s.']);
  });

  it('allows a new file to take 10 s until its duration is committed', () => {
    expect(overBudget({ a: 10, b: 10.1 }, {})).to.deep.equal(['b took 10.1 s; its budget is 10.0 s.']);
  });
});
