import { expect } from 'chai';
import { pendingSignUpRules } from '../../../domain/identity/pending-sign-ups.policy.ts';

describe('pending sign-ups (DEC-62)', () => {
  it('are at most 500 an hour of a club, and removed after a week, 200 a round', () => {
    expect(pendingSignUpRules).to.deep.equal({
      anHour: 500,
      anHourOfNetwork: 50,
      hourMs: 3_600_000,
      removedAfterMs: 604_800_000,
      removedARound: 200,
    });
  });
});
