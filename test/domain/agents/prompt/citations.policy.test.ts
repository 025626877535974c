import { expect } from 'chai';
import { citationsOf, type SentResult } from '../../../../domain/agents/prompt/citations.policy.ts';

const results: SentResult[] = [
  {
    sourceId: 'a',
    sourceKind: 'media',
    sourceTitle: 'Handbook',
    blocks: [
      { text: 'One. ', page: 3, seconds: null },
      { text: 'Two. ', page: 3, seconds: null },
      { text: 'Three.', page: 4, seconds: null },
    ],
  },
  {
    sourceId: 'b',
    sourceKind: 'lesson',
    sourceTitle: 'Lesson',
    blocks: [{ text: 'Four.', page: null, seconds: null }],
  },
];
const notSaid = { fromSeconds: null, toSeconds: null };
const cite = (result: number, startBlock: number, endBlock: number) => ({ result, startBlock, endBlock });

describe('citations', () => {
  it('contain the text of their blocks, their source, and the first and last page', () => {
    const { citations, dropped } = citationsOf([cite(0, 1, 3), cite(1, 0, 1), cite(0, 0, 1)], results);
    expect(dropped).to.equal(0);
    expect(citations).to.deep.equal([
      {
        citedText: 'Two. Three.',
        sourceId: 'a',
        sourceKind: 'media',
        sourceTitle: 'Handbook',
        pageFrom: 3,
        pageTo: 4,
        ...notSaid,
      },
      {
        citedText: 'Four.',
        sourceId: 'b',
        sourceKind: 'lesson',
        sourceTitle: 'Lesson',
        pageFrom: null,
        pageTo: null,
        ...notSaid,
      },
      {
        citedText: 'One. ',
        sourceId: 'a',
        sourceKind: 'media',
        sourceTitle: 'Handbook',
        pageFrom: 3,
        pageTo: 3,
        ...notSaid,
      },
    ]);
  });

  it('contain the first and last second of the cited words in a video', () => {
    const blocks = [
      { text: 'One. ', page: null, seconds: { from: 0, to: 4 } },
      { text: 'Two. ', page: null, seconds: { from: 4, to: 9 } },
      { text: 'Three.', page: null, seconds: { from: 12, to: 15 } },
    ];
    const video: SentResult = { sourceId: 'a', sourceKind: 'media', sourceTitle: 'Knots', blocks };
    const [spoken] = citationsOf([cite(0, 1, 3)], [video]).citations;
    expect(spoken).to.include({
      citedText: 'Two. Three.',
      pageFrom: null,
      pageTo: null,
      fromSeconds: 4,
      toSeconds: 15,
    });
  });

  it('appear once, at their first position', () => {
    const { citations } = citationsOf([cite(1, 0, 1), cite(0, 0, 1), cite(1, 0, 1)], results);
    expect(citations.map(({ citedText }) => citedText)).to.deep.equal(['Four.', 'One. ']);
  });

  for (const [result, start, end] of [
    [2, 0, 1],
    [-1, 0, 1],
    [0, 0, 4],
    [0, 3, 4],
    [0, -1, 1],
    [0, 1, 1],
    [0, 2, 1],
    [0.5, 0, 1],
    [0, 0.5, 1],
    [0, 0, 1.5],
    [Number.NaN, 0, 1],
  ] as const) {
    it(`are dropped if they name blocks that are not in the prompt: ${start} to ${end} of result ${result}`, () => {
      const { citations, dropped } = citationsOf([cite(result, start, end), cite(1, 0, 1)], results);
      expect(dropped).to.equal(1);
      expect(citations.map(({ citedText }) => citedText)).to.deep.equal(['Four.']);
    });
  }
});
