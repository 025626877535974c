import { expect } from 'chai';
import * as fc from 'fast-check';
import { withoutEnd, withoutEnds } from '../../../platform/core/ends.policy.ts';
import { expectLinear, manyTimes } from '../../toolkit/assert/scaling.ts';

const texts = fc.string({ unit: fc.constantFrom('-', '.', ' ', '\n', 'a', '\u{1f600}', '\ud83d'), maxLength: 12 });

describe('characters taken off the ends of a text', () => {
  it('equal the characters that a pattern for them would remove', () => {
    fc.assert(
      fc.property(texts, (text) => {
        expect(withoutEnds(text, '-')).to.equal(text.replace(/^-+|-+$/g, ''));
        expect(withoutEnds(text, '\n')).to.equal(text.replace(/^\n+|\n+$/g, ''));
        expect(withoutEnd(text, '.')).to.equal(text.replace(/\.+$/, ''));
        expect(withoutEnd(text, '. ')).to.equal(text.replace(/[. ]+$/, ''));
      }),
    );
  });

  it('are found in a time that grows with the text alone', () => {
    expectLinear('a run in the middle', manyTimes('-', { begin: 'a', end: 'a' }), (text) => withoutEnds(text, '-'));
  });
});
