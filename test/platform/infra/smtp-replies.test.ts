import { expect } from 'chai';
import * as fc from 'fast-check';
import { withoutAddresses } from '../../../platform/infra/smtp/smtp-hand-over.ts';
import { expectLinear, manyTimes } from '../../toolkit/assert/scaling.ts';

describe('removing addresses from the reply of a mail server', () => {
  it('removes the addresses that a regular expression finds', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('a', '@', ' ', '\n', '<', '.'), maxLength: 10 }), (reply) => {
        const asPattern = reply.replaceAll(/\S+@\S+/g, '<address>').replaceAll(/\s+/g, ' ');
        expect(withoutAddresses(reply), JSON.stringify(reply)).to.equal(asPattern);
      }),
    );
  });

  it('takes time in proportion to the length of the reply', () => {
    for (const piece of ['a', '@', 'a@', ' ']) expectLinear(piece, manyTimes(piece), withoutAddresses, 16_000);
  }).timeout(30_000);
});
