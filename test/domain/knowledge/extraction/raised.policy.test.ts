import { expect } from 'chai';
import { lowered, noteMark, raised } from '../../../../domain/knowledge/extraction/raised.policy.ts';

describe('the writer of raised and lowered letters', () => {
  for (const [letters, text] of [
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
    it(`writes a raised ${JSON.stringify(letters)} as ${JSON.stringify(text)}`, () =>
      expect(raised(letters)).to.equal(text));

  for (const [letters, text] of [
    ['2', '₂'],
    ['10', '₁₀'],
    ['max', '_(max)'],
    ['x', '_x'],
  ] as const)
    it(`writes a lowered ${letters} as ${text}`, () => expect(lowered(letters)).to.equal(text));

  it('separates the mark of a note from the word before it', () => {
    expect(['1', '[2]', ' (a) ', '', '*'].map(noteMark)).to.deep.equal([' [1]', ' [2]', ' [a]', '', ' [*]']);
  });
});
