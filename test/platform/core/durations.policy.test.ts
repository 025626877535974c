import { expect } from 'chai';
import { inAbout } from '../../../platform/core/time/durations.policy.ts';

describe('inAbout', () => {
  const words: [number, string][] = [
    [0, 'at once'],
    [999, 'at once'],
    [1_000, 'in about 1 s'],
    [5_400, 'in about 5 s'],
    [60_000, 'in about 1 min'],
    [30 * 60_000, 'in about 30 min'],
    [2 * 3_600_000, 'in about 2 h'],
    [26 * 3_600_000, 'in about 1 d'],
    [30 * 86_400_000, 'in about 30 d'],
  ];
  for (const [ms, text] of words) it(`describes ${ms} ms as "${text}"`, () => expect(inAbout(ms)).to.equal(text));
});
