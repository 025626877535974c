/** Tests the Mann-Whitney test against values that another statistics library computed for the same samples. */
import { expect } from 'chai';
import { mannWhitney } from './mann-whitney.ts';

const range = (count: number, valueAt: (index: number) => number) =>
  Array.from({ length: count }, (_, index) => valueAt(index));

describe('mannWhitney', () => {
  const known: readonly { name: string; one: number[]; other: number[]; u: number; p: number }[] = [
    { name: 'small samples', one: [19, 22, 16, 29, 24], other: [20, 11, 17, 12], u: 17, p: 0.111346887 },
    { name: 'small samples with equal values', one: [1, 1, 2, 2, 3], other: [2, 3, 3, 4, 4], u: 3, p: 0.052411629 },
    {
      name: 'samples that hardly differ',
      one: range(200, (index) => index + 1),
      other: range(200, (index) => index + 1.5),
      u: 19_900,
      p: 0.931417117,
    },
    {
      name: 'samples that differ by a tenth of their range',
      one: range(200, (index) => index + 1),
      other: range(200, (index) => index + 21.5),
      u: 16_110,
      p: 0.00076765,
    },
    {
      name: 'samples with many equal values',
      one: range(200, (index) => index % 7),
      other: range(200, (index) => index % 9),
      u: 15_610,
      p: 0.000130803,
    },
    {
      name: 'samples that do not overlap',
      one: range(200, (index) => index),
      other: range(200, (index) => index + 1_000),
      u: 0,
      p: 0,
    },
    { name: 'values that are all equal', one: range(10, () => 5), other: range(12, () => 5), u: 60, p: 1 },
  ];
  for (const { name, one, other, u, p } of known)
    it(`returns the known statistic and probability for ${name}`, () => {
      const result = mannWhitney(one, other);
      expect(result.u).to.equal(u);
      expect(result.p).to.be.closeTo(p, 2e-7);
    });

  it('returns the same probability and the opposite share if the samples are exchanged', () => {
    const [one, other] = [range(50, (index) => (index * 7) % 31), range(40, (index) => (index * 5) % 37)];
    const [there, back] = [mannWhitney(one, other), mannWhitney(other, one)];
    expect(back.p).to.equal(there.p);
    expect(back.share).to.be.closeTo(1 - there.share, 1e-12);
  });

  it('does not depend on the order of equal values', () => {
    expect(mannWhitney([1, 1, 1], [1, 1, 1]).share).to.equal(0.5);
  });

  it('returns p <= 0.01 for about one in a hundred pairs of samples of one source', () => {
    let state = 1;
    const next = () => (state = (state * 48_271) % 2_147_483_647);
    const alarms = range(2_000, () => mannWhitney(range(200, next), range(200, next)).p).filter((p) => p <= 0.01);
    expect(alarms.length).to.be.within(8, 36);
  });

  it('refuses an empty sample and a value that is not a number', () => {
    expect(() => mannWhitney([], [1])).to.throw(RangeError, 'Empty sample');
    expect(() => mannWhitney([1], [Number.NaN])).to.throw(RangeError, 'NaN');
  });
});
