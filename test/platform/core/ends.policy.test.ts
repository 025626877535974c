import { expect } from 'chai';
import * as fc from 'fast-check';
import { withoutEnd, withoutEnds } from '../../../platform/core/text/ends.policy.ts';
import { expectLinear, manyTimes } from '../../toolkit/assert/scaling.ts';

const texts = fc.string({ unit: fc.constantFrom('-', '.', ' ', '\n', 'a', '\u{1f600}', '\ud83d'), maxLength: 12 });

describe('trimming characters from the ends of a text', () => {
  it('gives the same result as a regular expression', () => {
    fc.assert(
      fc.property(texts, (text) => {
        expect(withoutEnds(text, '-')).to.equal(text.replace(/^-+|-+$/g, ''));
        expect(withoutEnds(text, '\n')).to.equal(text.replace(/^\n+|\n+$/g, ''));
        expect(withoutEnd(text, '.')).to.equal(text.replace(/\.+$/, ''));
        expect(withoutEnd(text, '. ')).to.equal(text.replace(/[. ]+$/, ''));
      }),
    );
  });

  it('takes time in proportion to the length of the text', () => {
    expectLinear('a long run of these characters in the middle', manyTimes('-', { begin: 'a', end: 'a' }), (text) =>
      withoutEnds(text, '-'),
    );
  });
});
