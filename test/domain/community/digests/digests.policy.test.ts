import { expect } from 'chai';
import { digestRules } from '../../../../domain/community/digests/digests.policy.ts';

describe('digests (COMM-17, COMM-18)', () => {
  it('start at 08:00, show 5 posts in each of 10 spaces, and are stored for 90 days', () => {
    expect(digestRules).to.deep.equal({
      minuteOfDay: 480,
      marginMs: 60_000,
      lookBackMs: 604_800_000,
      pageSize: 1_000,
      spaces: 10,
      posts: 5,
      counted: 100,
      excerpt: 280,
      retentionMs: 7_776_000_000,
    });
  });
});
