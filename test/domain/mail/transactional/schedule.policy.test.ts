import { expect } from 'chai';
import { waitAfterMailAttempt } from '../../../../domain/mail/transactional/schedule.policy.ts';

describe('waitAfterMailAttempt', () => {
  it('waits 10 s, then 1, 5, 15, 30, 60 and 120 minutes, then gives up', () => {
    const waits = [1, 2, 3, 4, 5, 6, 7, 8].map((attempts) => waitAfterMailAttempt(attempts));
    const minute = 60_000;
    expect(waits).to.deep.equal([
      10_000,
      minute,
      5 * minute,
      15 * minute,
      30 * minute,
      60 * minute,
      120 * minute,
      undefined,
    ]);
  });
});
