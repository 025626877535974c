import { expect } from 'chai';
import { mock } from 'node:test';
import { restingAfter, timeOfStep } from '../../activities/step.ts';

describe('the time of a step (ENG-7)', () => {
  it('is the workflow’s time if that is ahead of the clock', () => {
    const ahead = Date.now() + 86_400_000;
    expect(timeOfStep(ahead)).to.equal(ahead);
  });

  it('is the present time, even if the task waited in a queue', () => {
    const now = Date.now();
    expect(timeOfStep(now - 3_600_000)).to.be.within(now, now + 100);
  });
});

describe('the rest time after a step of bulk work', () => {
  /** In milliseconds. */
  const restAfter = async (tookMs: number, step: { done: boolean; at?: number }) => {
    let now = 1_000;
    const clock = mock.method(performance, 'now', () => now);
    const waits: number[] = [];
    try {
      const rest = async (ms: number) => void waits.push(ms);
      expect(await restingAfter(async () => ((now += tookMs), step), rest)).to.equal(step);
    } finally {
      clock.mock.restore();
    }
    return waits;
  };

  it('equals the duration of the step, but is at most one second', async () => {
    expect(await restAfter(180, { done: false })).to.deep.equal([180]);
    expect(await restAfter(5_000, { done: false })).to.deep.equal([1_000]);
  });

  it('does not exist if the work is done, or if the next step has a start time', async () => {
    expect(await restAfter(180, { done: true })).to.deep.equal([]);
    expect(await restAfter(180, { done: false, at: 1 })).to.deep.equal([]);
  });
});
