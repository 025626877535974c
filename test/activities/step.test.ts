import { expect } from 'chai';
import { timeOfStep } from '../../activities/step.ts';

describe('the time of a step (ENG-7)', () => {
  it('is the workflow’s time when that is ahead of the clock, as with skipped time', () => {
    const ahead = Date.now() + 86_400_000;
    expect(timeOfStep(ahead)).to.equal(ahead);
  });

  it('is the present when the task waited in a queue, so that no wait counts from the past', () => {
    const now = Date.now();
    expect(timeOfStep(now - 3_600_000)).to.be.within(now, now + 100);
  });
});
