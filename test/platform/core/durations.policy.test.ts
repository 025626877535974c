import { expect } from 'chai';
import { inAbout } from '../../../platform/core/durations.policy.ts';

describe('inAbout', () => {
  const words: [number, string][] = [
    [0, 'at once'],
    [999, 'at once'],
    [1_000, 'in about 1 s'],
    [5_400, 'in about 5 s'],
    [59_499, 'in about 59 s'],
    [59_500, 'in about 1 min'],
    [60_000, 'in about 1 min'],
    [30 * 60_000, 'in about 30 min'],
    [59 * 60_000, 'in about 59 min'],
    [3_599_999, 'in about 1 h'],
    [2 * 3_600_000, 'in about 2 h'],
    [86_399_000, 'in about 1 d'],
    [26 * 3_600_000, 'in about 1 d'],
    [30 * 86_400_000, 'in about 30 d'],
  ];
  for (const [ms, text] of words) it(`describes ${ms} ms as "${text}"`, () => expect(inAbout(ms)).to.equal(text));
});
