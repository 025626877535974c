import { expect } from 'chai';
import fc from 'fast-check';
import { reserveFor } from '../../../../domain/agents/conversations/limits.ts';
import { promptOf } from '../../../../domain/agents/prompt/prompt-blocks.policy.ts';
import {
  likelyPromptTokens,
  likelyTokens,
  promptBounds,
  turnsThatFit,
  type Turn,
} from '../../../../domain/agents/prompt/prompt.policy.ts';

const lengthOf = (text: string) => Array.from(text).length;
const turn = (question: string, answer: string): Turn => ({ question, answer });
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

const parts = { instructions: '', history: [], question: '', images: 0 };

describe('history of a prompt', () => {
  it('contains the newest turns that fit completely, oldest first', () => {
    const newest = turn('newest', 'a'.repeat(12_000));
    const ofLength = (length: number) => [newest, turn('before', 'b'.repeat(length - 6)), turn('', '')];
    const questionsThatFit = (turns: Turn[]) => turnsThatFit(turns).map(({ question }) => question);
    expect(questionsThatFit(ofLength(24_000 - 12_006))).to.deep.equal(['', 'before', 'newest']);
    expect(questionsThatFit(ofLength(24_001 - 12_006))).to.deep.equal(['newest']);
  });

  it('has at most forty turns, even if they are very short', () => {
    const turns = Array.from({ length: 41 }, (_, age) => turn(`${age}`, ''));
    expect(turnsThatFit(turns)).to.deep.equal(turns.slice(0, 40).toReversed());
  });

  it('is measured in characters, not in bytes or UTF-16 units', () => {
    const half = '\u{1F98A}'.repeat(12_000);
    expect(turnsThatFit([turn(half, half)])).to.have.length(1);
    expect(turnsThatFit([turn(half, `${half}a`)])).to.have.length(0);
  });

  it('stays within its limits, and drops the oldest turns first', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 9_000, size: 'max' });
    fc.assert(
      fc.property(fc.array(fc.record({ question: text, answer: text }), { maxLength: 60 }), (newestFirst) => {
        const fittingTurns = turnsThatFit(newestFirst);
        const characters = fittingTurns.reduce(
          (sum, { question, answer }) => sum + lengthOf(question) + lengthOf(answer),
          0,
        );
        expect(characters).to.be.at.most(promptBounds.historyCharacters);
        expect(fittingTurns.length).to.be.at.most(promptBounds.historyTurns);
        expect(fittingTurns.toReversed()).to.deep.equal(newestFirst.slice(0, fittingTurns.length));
      }),
      { numRuns: 50 },
    );
  });
});

const prose = (maxLength: number) =>
  fc.string({
    unit: fc.oneof(
      { weight: 12, arbitrary: fc.constantFrom(...Array.from('abcdefghijklmnopqrstuvwxyz    ,.0123456789')) },
      { weight: 1, arbitrary: fc.constantFrom(...Array.from('áãçéíõúüß’“')) },
    ),
    maxLength,
    size: 'max',
  });

describe('estimated tokens of a prompt', () => {
  it('are never fewer than the real tokens if the prompt consists of prose', () => {
    const passage = fc.record({
      sourceId: fc.uuid(),
      sourceKind: fc.constant('lesson' as const),
      sourceTitle: prose(3_000),
      position: fc.nat(20),
      page: fc.constant(null),
      headings: fc.array(prose(3_000), { maxLength: 2 }),
      blocks: fc.array(prose(300), { maxLength: 8 }),
      fromSeconds: fc.constant(null),
      toSeconds: fc.constant(null),
    });
    const promptParts = fc.record({
      instructions: prose(3_000),
      question: prose(3_000),
      turns: fc.array(fc.record({ question: prose(3_000), answer: prose(3_000) }), { maxLength: 12 }),
      passages: fc.array(passage, { maxLength: 20 }),
      agentName: prose(200),
    });
    fc.assert(
      fc.property(promptParts, ({ turns, ...content }) => {
        const history = turnsThatFit(turns);
        const { request } = promptOf({ ...content, model: 'claude-sonnet-5-5', maxTokens: 100, history, images: [] });
        const tokens = textsIn([request.system, request.messages]).reduce((sum, text) => sum + likelyTokens(text), 0);
        expect(tokens).to.be.at.most(likelyPromptTokens({ ...content, history, images: 0 }));
      }),
      { numRuns: 100 },
    );
  });

  it('count one token for three ASCII characters or two other bytes', () => {
    const nothing = likelyPromptTokens(parts);
    expect(nothing).to.equal(1_500 + 20 + 12 * 600);
    expect(likelyPromptTokens({ ...parts, question: 'abcdef' }) - nothing).to.equal(2);
    expect(likelyPromptTokens({ ...parts, question: 'ação' }) - nothing).to.equal(3); // “ao” 2/3 token, “çã” 2 tokens, rounded up
    expect(likelyPromptTokens({ ...parts, instructions: '\u{1F98A}' }) - nothing).to.equal(2);
    expect(likelyPromptTokens({ ...parts, history: [turn('ab', 'é')] }) - nothing).to.equal(1 + 1 + 2 * 20);
    expect(likelyPromptTokens({ ...parts, images: 2 }) - nothing).to.equal(2 * 5_000);
  });

  it('reserve about four cents for a usual question', () => {
    const prompt = { instructions: 'a'.repeat(600), history: [], question: 'When is a knot a bend?', images: 0 };
    const terms = {
      id: '',
      model: 'claude-sonnet-5-5',
      dailyLimit: 50,
      answerMaxTokens: 2_048,
      instructions: prompt.instructions,
    };
    const micros = reserveFor(terms, prompt, new Date('2026-11-21T12:00:00Z'));
    expect(Number(micros) / 10_000).to.be.within(4, 5);
  });
});
