import { expect } from 'chai';
import { longestWaitMs, maxAttempts, waitAfter } from '../../../domain/knowledge/indexing/indexing.policy.ts';
import { weigh, type Term } from '../../../domain/knowledge/retrieval.policy.ts';

const term = (lexeme: string, passages: number, changes: Partial<Term> = {}): Term => ({
  word: 0,
  lexeme,
  passages,
  likeness: 1,
  ...changes,
});
const lexemesOf = (terms: readonly Term[]) => terms.map(({ lexeme }) => lexeme);

describe('the function that weighs the words of a question', () => {
  it('ranks words by rarity, then by position, then by the alphabet', () => {
    const terms = [term('d', 5), term('c', 2, { word: 1 }), term('b', 2), term('a', 2), term('e', 1, { word: 9 })];
    expect(lexemesOf(weigh(terms, 10))).to.deep.equal(['e', 'a', 'b', 'c', 'd']);
    expect(lexemesOf(weigh(terms.toReversed(), 10))).to.deep.equal(['e', 'a', 'b', 'c', 'd']);
  });

  it('keeps only the 24 rarest words', () => {
    const terms = Array.from({ length: 30 }, (_, place) => term(`t${place}`, 30 - place));
    const weighedTerms = weigh(terms, 100);
    expect(weighedTerms.map(({ passages }) => passages)).to.deep.equal(
      Array.from({ length: 24 }, (_, place) => place + 1),
    );
  });

  it('selects at most 1,000 passages by the rarest words', () => {
    const chosen = (...counts: number[]) =>
      weigh(
        counts.map((count, place) => term(`t${place}`, count)),
        5_000,
      ).map(({ chooses }) => chooses);
    expect(chosen(2_000, 3_000)).to.deep.equal([true, false]);
    expect(chosen(400, 600)).to.deep.equal([true, true]);
    expect(chosen(400, 601)).to.deep.equal([true, false]);
    expect(chosen(100, 400, 501)).to.deep.equal([true, true, false]);
    expect(chosen(100, 400, 500)).to.deep.equal([true, true, true]);
  });

  it('multiplies BM25 by the similarity, and gives no negative weight', () => {
    const [whole, half, everywhere] = weigh([term('a', 2), term('b', 2, { likeness: 0.5 }), term('c', 20)], 10);
    expect(whole?.weight).to.be.closeTo(Math.log(1 + 8.5 / 2.5), 1e-12);
    expect(half?.weight).to.be.closeTo(Math.log(1 + 8.5 / 2.5) / 2, 1e-12);
    expect(everywhere?.weight).to.be.closeTo(Math.log(1 + 0.5 / 20.5), 1e-12);
    expect(whole).to.include(term('a', 2));
  });
});

describe('repeated tries of a source', () => {
  it('wait 5, 30 and 120 s, then 10, 30 and 60 min, and end after these six waits', () => {
    expect([1, 2, 3, 4, 5, 6, 7].map(waitAfter)).to.deep.equal([
      5_000,
      30_000,
      120_000,
      600_000,
      1_800_000,
      3_600_000,
      undefined,
    ]);
    expect([maxAttempts, longestWaitMs]).to.deep.equal([7, 3_600_000]);
  });
});
