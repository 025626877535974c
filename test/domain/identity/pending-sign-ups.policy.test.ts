import { expect } from 'chai';
import { pendingSignUpRules } from '../../../domain/identity/accounts/pending-sign-ups.policy.ts';

describe('pending sign-ups (DEC-62)', () => {
  it('are limited to 500 an hour for a club, and are removed after a week, 200 in each round', () => {
    expect(pendingSignUpRules).to.deep.equal({
      anHour: 500,
      anHourOfNetwork: 50,
      hourMs: 3_600_000,
      removedAfterMs: 604_800_000,
      removedARound: 200,
    });
  });
});
