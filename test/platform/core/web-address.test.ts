import { expect } from 'chai';
import * as fc from 'fast-check';
import { holdsWebAddress } from '../../../platform/core/text.policy.ts';
import { expectLinear, manyTimes } from '../../toolkit/assert/scaling.ts';

describe('a web address in a text', () => {
  it('is found by its scheme where a pattern for the whole scheme finds it', () => {
    const whole = /[a-z][a-z0-9+.-]*:\/\//iu;
    const pieces = ['a', 'Z', '1', '+', '-', '.', ':', '/', '://', ' ', '_', '\u212a', '\u017f', 'é'];
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...pieces), maxLength: 8 }), (text) => {
        // Names under a domain are another part of the pattern.
        const withoutNames = text.replaceAll('.', '+');
        expect(holdsWebAddress(withoutNames), withoutNames).to.equal(whole.test(withoutNames));
      }),
      { numRuns: 5_000 },
    );
  });

  it('is looked for in a time that grows with the text alone', () => {
    for (const piece of ['a', 'a+', 'a.', '1', 'www', ':/'])
      expectLinear(piece, manyTimes(piece), holdsWebAddress, 16_000);
  }).timeout(30_000);
});
