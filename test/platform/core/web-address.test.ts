import { expect } from 'chai';
import * as fc from 'fast-check';
import { holdsUnseenCharacters, holdsWebAddress } from '../../../platform/core/text/text.policy.ts';
import { expectLinear, manyTimes } from '../../toolkit/assert/scaling.ts';

describe('searching a text for a web address', () => {
  it('finds what a simple but slow regular expression finds', () => {
    const whole = /[a-z][a-z0-9+.-]*:\/\//iu;
    const pieces = ['a', 'Z', '1', '+', '-', '.', ':', '/', '://', ' ', '_', '\u212a', '\u017f', 'é'];
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...pieces), maxLength: 8 }), (text) => {
        // Another part of the pattern finds addresses without a scheme.
        const withoutNames = text.replaceAll('.', '+');
        expect(holdsWebAddress(withoutNames), withoutNames).to.equal(whole.test(withoutNames));
      }),
      { numRuns: 5_000 },
    );
  });

  it('takes time in proportion to the length of the text', () => {
    for (const piece of ['a', 'a+', 'a.', '1', 'www', ':/'])
      expectLinear(piece, manyTimes(piece), holdsWebAddress, 16_000);
  }).timeout(30_000);
});

describe('removing invisible characters', () => {
  it('takes time in proportion to the length of the text', () => {
    for (const piece of ['\u0610', '\u0628\u200d', '\u0610\u200d', '\u200d', '\u{1f3f4}\u{e0067}'])
      expectLinear(piece, manyTimes(piece), holdsUnseenCharacters, 16_000);
  }).timeout(30_000);

  it('keeps the joiners that a regular expression with lookbehind keeps', () => {
    const joining = ['Arab', 'Deva', 'Mong'].map((script) => String.raw`\p{Script=${script}}`).join('');
    const asBefore = new RegExp(String.raw`(?<=[${joining}]\p{M}*)[\u200c\u200d](?=[${joining}])`, 'gu');
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.constantFrom('\u0628', '\u0610', '\u0915', '\u094d', '\u200c', '\u200d', 'a'),
          maxLength: 8,
        }),
        (text) => {
          const rest = text.replace(asBefore, '');
          expect(holdsUnseenCharacters(text), JSON.stringify(text)).to.equal(/[\u200c\u200d]/.test(rest));
        },
      ),
      { numRuns: 5_000 },
    );
  });
});
