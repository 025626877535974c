import { expect } from 'chai';
import * as fc from 'fast-check';
import { withoutAddresses } from '../../../platform/infra/smtp/smtp-hand-over.ts';
import { expectLinear, manyTimes } from '../../toolkit/assert/scaling.ts';

describe('the reply of a mail server', () => {
  it('loses the addresses that a pattern finds', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('a', '@', ' ', '\n', '<', '.'), maxLength: 10 }), (reply) => {
        const asPattern = reply.replaceAll(/\S+@\S+/g, '<address>').replaceAll(/\s+/g, ' ');
        expect(withoutAddresses(reply), JSON.stringify(reply)).to.equal(asPattern);
      }),
    );
  });

  it('loses them in a time that grows with its length alone', () => {
    for (const piece of ['a', '@', 'a@', ' ']) expectLinear(piece, manyTimes(piece), withoutAddresses, 16_000);
  }).timeout(30_000);
});
