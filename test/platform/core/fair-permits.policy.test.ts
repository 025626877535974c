/** Tests how clubs share the permits of a process (DEC-121). */
import { expect } from 'chai';
import * as fc from 'fast-check';
import { exhaustedLimit } from '../../../platform/core/fair-permits.policy.ts';

describe('permits that clubs share', () => {
  /** One club after another acquires as many permits as it may have. */
  function greedy(all: number, clubs: number): number[] {
    let used = 0;
    return Array.from({ length: clubs }, () => {
      let club = 0;
      for (; exhaustedLimit(all, { all: used, club }) === undefined; used += 1) club += 1;
      return club;
    });
  }

  it('give each further club half of the remaining permits', () => {
    expect(greedy(24, 6)).to.deep.equal([12, 6, 3, 2, 1, 0]);
    expect(greedy(100, 4)).to.deep.equal([50, 25, 13, 6]);
    expect(greedy(2_000, 4)).to.deep.equal([1_000, 500, 250, 125]);
  });

  it('cannot all be used by one or two clubs, if at least four permits exist', () => {
    fc.assert(
      fc.property(fc.integer({ min: 4, max: 10_000 }), (all) => {
        const [first = 0, second = 0, third = 0] = greedy(all, 3);
        expect(first + second).to.be.lessThan(all);
        expect(third).to.be.greaterThan(0);
      }),
    );
  });

  it('are refused with the limit that was reached: club or process', () => {
    expect(exhaustedLimit(4, { all: 2, club: 2 })).to.equal('club');
    expect(exhaustedLimit(4, { all: 4, club: 0 })).to.equal('process');
    expect(exhaustedLimit(1, { all: 0, club: 0 })).to.equal(undefined);
  });
});
