import { expect } from 'chai';
import fc from 'fast-check';
import { promptOf } from '../../../../domain/agents/prompt/prompt-blocks.policy.ts';
import {
  maxPromptTokens,
  promptBounds,
  turnsThatFit,
  type Turn,
} from '../../../../domain/agents/prompt/prompt.policy.ts';

const lengthOf = (text: string) => Array.from(text).length;
const turn = (question: string, answer: string): Turn => ({ question, answer });
/** Every text that stands somewhere in it, titles and names too. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

const parts = { instructions: '', history: [], question: '', images: 0 };

describe('history of a prompt', () => {
  it('is the newest turns that fit whole, oldest first', () => {
    const newest = turn('newest', 'a'.repeat(12_000));
    const ofLength = (length: number) => [newest, turn('before', 'b'.repeat(length - 6)), turn('', '')];
    const kept = (turns: Turn[]) => turnsThatFit(turns).map(({ question }) => question);
    expect(kept(ofLength(24_000 - 12_006))).to.deep.equal(['', 'before', 'newest']);
    expect(kept(ofLength(24_001 - 12_006))).to.deep.equal(['newest']);
  });

  it('is measured in characters, not in bytes or surrogates', () => {
    const half = '\u{1F98A}'.repeat(12_000);
    expect(turnsThatFit([turn(half, half)])).to.have.length(1);
    expect(turnsThatFit([turn(half, `${half}a`)])).to.have.length(0);
  });

  it('stays within its bounds, and drops only the oldest turns', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 9_000, size: 'max' });
    fc.assert(
      fc.property(fc.array(fc.record({ question: text, answer: text }), { maxLength: 60 }), (newestFirst) => {
        const kept = turnsThatFit(newestFirst);
        const characters = kept.reduce((sum, { question, answer }) => sum + lengthOf(question) + lengthOf(answer), 0);
        expect(characters).to.be.at.most(promptBounds.historyCharacters);
        expect(kept.length).to.be.at.most(promptBounds.historyTurns);
        expect(kept.toReversed()).to.deep.equal(newestFirst.slice(0, kept.length));
      }),
      { numRuns: 50 },
    );
  });
});

describe('most tokens of a prompt', () => {
  it('are at least the bytes of any prompt that is built', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 3_000, size: 'max' });
    const passage = fc.record({
      sourceId: fc.uuid(),
      sourceKind: fc.constant('lesson' as const),
      sourceTitle: text,
      position: fc.nat(20),
      page: fc.constant(null),
      headings: fc.array(text, { maxLength: 2 }),
      blocks: fc.array(fc.string({ unit: 'grapheme', maxLength: 300 }), { maxLength: 8 }),
    });
    const asked = fc.record({
      instructions: text,
      question: text,
      turns: fc.array(fc.record({ question: text, answer: text }), { maxLength: 12 }),
      passages: fc.array(passage, { maxLength: 20 }),
      agentName: fc.string({ unit: 'grapheme', maxLength: 200 }),
    });
    fc.assert(
      fc.property(asked, ({ turns, ...content }) => {
        const history = turnsThatFit(turns);
        const { request } = promptOf({ ...content, model: 'claude-sonnet-5-5', maxTokens: 100, history, images: [] });
        const bytes = textsIn([request.system, request.messages]).reduce(
          (sum, sent) => sum + Buffer.byteLength(sent),
          0,
        );
        expect(bytes).to.be.at.most(maxPromptTokens({ ...content, history, images: 0 }));
      }),
      { numRuns: 100 },
    );
  });

  it('count each byte of known text as a token, and the bounds of unknown text', () => {
    const nothing = maxPromptTokens(parts);
    expect(nothing).to.equal(6_000 + 20 + 12 * 5_000);
    expect(maxPromptTokens({ ...parts, question: 'ação' }) - nothing).to.equal(6);
    expect(maxPromptTokens({ ...parts, instructions: '\u{1F98A}' }) - nothing).to.equal(4);
    expect(maxPromptTokens({ ...parts, history: [turn('ab', 'é')] }) - nothing).to.equal(4 + 2 * 20);
    expect(maxPromptTokens({ ...parts, images: 2 }) - nothing).to.equal(2 * 5_000);
  });
});
