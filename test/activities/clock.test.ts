import { expect } from 'chai';
import { timeOfStep } from '../../activities/clock.ts';

describe('the time of a step', () => {
  it('is the workflow’s where that runs ahead, as when time is skipped', () => {
    const ahead = Date.now() + 86_400_000;
    expect(timeOfStep(ahead)).to.equal(ahead);
  });

  it('is the present where the task has waited in a queue: a wait must not be reckoned from the past', () => {
    const now = Date.now();
    expect(timeOfStep(now - 3_600_000)).to.be.within(now, now + 100);
  });
});
