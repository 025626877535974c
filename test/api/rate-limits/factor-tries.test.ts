/** Tests that no second factor is accepted while the counters of tries are unavailable (FAC-7, DEC-262). */
import { expect } from 'chai';
import { CountersUnavailable } from '../../../api/rate-limits/limiter.ts';
import { tryFactor, tryProof } from '../../../api/rate-limits/tries.ts';
import { DomainError } from '../../../platform/core/errors.ts';

const unavailable = () => Promise.reject(new CountersUnavailable());
const limiter = { attempt: unavailable, takeBack: unavailable, remember: unavailable, isRemembered: unavailable };

describe('tries of second factors without counters', () => {
  const tries = {
    'a sign-in': (prove: () => Promise<string>) =>
      tryFactor(
        limiter,
        { account: 'a', device: undefined, firstFactor: 'password', ip: '203.0.113.1', now: 0 },
        prove,
      ),
    'a proof': (prove: () => Promise<string>) => tryProof(limiter, { account: 'a', sessionId: 's', now: 0 }, prove),
  };
  for (const [name, tryOnce] of Object.entries(tries))
    it(`are refused before the factor of ${name} is checked`, async () => {
      let wasChecked = false;
      const refusal: unknown = await tryOnce(async () => {
        wasChecked = true;
        return 'session';
      }).catch((error: unknown) => error);
      expect(refusal).to.be.instanceOf(DomainError).with.property('code', 'rate_limit_unavailable');
      expect(wasChecked).to.equal(false);
    });
});
