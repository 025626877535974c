import { expect } from 'chai';
import { lowered, noteMark, raised } from '../../../../domain/knowledge/extraction/raised.policy.ts';

describe('raised and lowered letters', () => {
  for (const [given, text] of [
    ['3', '³'],
    ['-12', '⁻¹²'],
    ['−1', '⁻¹'],
    ['n+1', 'ⁿ⁺¹'],
    ['x', '^x'],
    ['2k', '^(2k)'],
    [' 3 ', ' ³ '],
    ['st', 'st'],
    ['º', 'º'],
    ['TM', 'TM'],
    ['', ''],
    ['٣', '^٣'],
  ] as const)
    it(`writes a raised ${JSON.stringify(given)} as ${JSON.stringify(text)}`, () =>
      expect(raised(given)).to.equal(text));

  for (const [given, text] of [
    ['2', '₂'],
    ['10', '₁₀'],
    ['max', '_(max)'],
    ['x', '_x'],
  ] as const)
    it(`writes a lowered ${given} as ${text}`, () => expect(lowered(given)).to.equal(text));

  it('separates the mark of a note from the word before it', () => {
    expect(['1', '[2]', ' (a) ', '', '*'].map(noteMark)).to.deep.equal([' [1]', ' [2]', ' [a]', '', ' [*]']);
  });
});
