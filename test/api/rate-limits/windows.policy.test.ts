/** Tests time windows that are aligned to the clock, and the whole seconds until a window begins. */
import { expect } from 'chai';
import * as fc from 'fast-check';
import { secondsUntilWindow, windowAt } from '../../../api/rate-limits/windows.policy.ts';

describe('a fixed window', () => {
  const noon = Date.UTC(2025, 0, 1, 12, 0, 0);

  it('begins when a minute or an hour of the clock begins', () => {
    expect(windowAt(noon, 60)).to.equal(windowAt(noon + 59_999, 60));
    expect(windowAt(noon + 60_000, 60)).to.equal(windowAt(noon, 60) + 1);
    expect(windowAt(noon - 1, 60)).to.equal(windowAt(noon, 60) - 1);
    expect(windowAt(noon + 3_599_999, 3_600)).to.equal(windowAt(noon, 3_600));
    expect(windowAt(noon + 3_600_000, 3_600)).to.equal(windowAt(noon, 3_600) + 1);
  });

  it('causes a Retry-After in whole seconds, rounded up, of at least 1', () => {
    const next = windowAt(noon, 60) + 1;
    const table: readonly [number, number][] = [
      [0, 60],
      [1, 60],
      [999, 60],
      [1_000, 59],
      [58_999, 2],
      [59_000, 1],
      [59_999, 1],
    ];
    for (const [after, seconds] of table)
      expect(secondsUntilWindow(next, 60, noon + after), `${after} ms`).to.equal(seconds);
    expect(secondsUntilWindow(next + 1, 60, noon + 59_999)).to.equal(61);
    expect(secondsUntilWindow(next, 60, noon + 60_000)).to.equal(1);
  });

  it('begins after exactly the seconds of Retry-After, and not a second earlier', () => {
    const moment = fc.integer({ min: 0, max: 4_102_444_800_000 });
    fc.assert(
      fc.property(moment, fc.constantFrom(60, 3_600), fc.constantFrom(1, 2), (now, windowSeconds, ahead) => {
        const window = windowAt(now, windowSeconds) + ahead;
        const seconds = secondsUntilWindow(window, windowSeconds, now);
        expect(windowAt(now + seconds * 1_000, windowSeconds)).to.equal(window);
        expect(windowAt(now + (seconds - 1) * 1_000, windowSeconds)).to.equal(window - 1);
      }),
    );
  });
});
