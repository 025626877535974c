/** How clubs share the places of a process (DEC-121). */
import { expect } from 'chai';
import * as fc from 'fast-check';
import { fullFor } from '../../../platform/core/fair-places.policy.ts';

describe('places that clubs share', () => {
  /** @returns how many places each club has, one after the other, if it takes all that it may */
  function greedy(all: number, clubs: number): number[] {
    let taken = 0;
    return Array.from({ length: clubs }, () => {
      let club = 0;
      for (; fullFor(all, { all: taken, club }) === undefined; taken += 1) club += 1;
      return club;
    });
  }

  it('are halved from club to club', () => {
    expect(greedy(24, 6)).to.deep.equal([12, 6, 3, 2, 1, 0]);
    expect(greedy(100, 4)).to.deep.equal([50, 25, 13, 6]);
    expect(greedy(2_000, 4)).to.deep.equal([1_000, 500, 250, 125]);
  });

  it('are never all taken by two clubs, and never by one, from four places on', () => {
    fc.assert(
      fc.property(fc.integer({ min: 4, max: 10_000 }), (all) => {
        const [first = 0, second = 0, third = 0] = greedy(all, 3);
        expect(first + second).to.be.lessThan(all);
        expect(third).to.be.greaterThan(0);
      }),
    );
  });

  it('say whose bound keeps a club from one', () => {
    expect(fullFor(4, { all: 2, club: 2 })).to.equal('club');
    expect(fullFor(4, { all: 4, club: 0 })).to.equal('process');
    expect(fullFor(1, { all: 0, club: 0 })).to.equal(undefined);
  });
});
