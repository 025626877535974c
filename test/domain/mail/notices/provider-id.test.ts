import { expect } from 'chai';
import * as fc from 'fast-check';
import { providerIdIn } from '../../../../domain/mail/notices/mail-event.policy.ts';
import { expectLinear, manyTimes } from '../../../toolkit/assert/scaling.ts';

describe("a provider's id in the reply of a mail server", () => {
  it('equals the match of a simple regular expression', () => {
    const pattern = /^250\b.*?\b(?:ok|queued as|id=)[:\s]*(?:queued as\s+)?<?([\w.+-]{8,200})>?\s*$/i;
    const pieces = ['ok', 'Ok', 'queued as', 'id=', ' ', ':', '<', '>', '\n', 'abcdefgh', 'x', '=', '\u2028'];
    fc.assert(
      fc.property(
        fc.constantFrom('250', '250 ', '250-', '2500 ', ' 250 ', '250 2.0.0 '),
        fc.string({ unit: fc.constantFrom(...pieces), maxLength: 9 }),
        (begin, end) => {
          const reply = begin + end;
          expect(providerIdIn(reply), JSON.stringify(reply)).to.equal(pattern.exec(reply)?.[1]);
        },
      ),
      { numRuns: 20_000 },
    );
  });

  it('is found in time that grows linearly with the reply', () => {
    for (const piece of ['ok', 'ok ', ' ', 'queued as ', 'id=', 'ok:'])
      expectLinear(piece, manyTimes(piece, { begin: '250 ', end: '!' }), providerIdIn, 16_000);
  }).timeout(30_000);
});
