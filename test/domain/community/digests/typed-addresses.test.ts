import { expect } from 'chai';
import * as fc from 'fast-check';
import { withoutAddresses } from '../../../../domain/community/digests/typed-addresses.ts';
import { expectLinear, manyTimes } from '../../../toolkit/assert/scaling.ts';

describe('addresses that a person typed into a post', () => {
  it('are replaced by [link] if they match a pattern', () => {
    const pieces = [
      'http',
      '://',
      ':',
      '/',
      'www.',
      'WWW.',
      'a',
      '1',
      '.',
      '+',
      '-',
      ' ',
      '\n',
      '_',
      'é',
      '\u212a',
      '\u017f',
      '\u{1f600}',
    ];
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...pieces), maxLength: 12 }), (text) => {
        const asPattern = text.replaceAll(/(?:\b[a-z][a-z0-9+.-]*:\/\/|\bwww\.)\S+/giu, '[link]');
        expect(withoutAddresses(text), JSON.stringify(text)).to.equal(asPattern);
      }),
      { numRuns: 10_000 },
    );
  });

  it('are found in linear time', () => {
    for (const piece of ['a', 'a.', '1.', 'www.', 'a:/', 'a://', 'a.b '])
      expectLinear(piece, manyTimes(piece), withoutAddresses, 16_000);
  }).timeout(30_000);
});
