/** How passages are ranked: which of a question's words choose them, and what each word weighs (docs/adr/0014-retrieval.md). */

/** A stem of the club's material that a word of the question may mean. */
export interface Term {
  /** Which word of the question, from 0: of its stems the best one counts. */
  word: number;
  lexeme: string;
  /** Passages of the club that have it. */
  passages: number;
  /** 1, or less where the question's word is only spelled much like it. */
  likeness: number;
}

export interface WeighedTerm extends Term {
  weight: number;
  /** Whether it chooses passages, or only ranks those that others have chosen. */
  chooses: boolean;
}

export const rankingRules = {
  /** Words of a question that are looked at, from its beginning. */
  words: 400,
  /** Of these, stems that choose and rank: the rarest. */
  terms: 24,
  /** Words that the material does not have and that are looked for by their spelling. */
  misspelled: 6,
  /** Passages that are ranked: what bounds the cost of a search where every word is common. */
  candidates: 1_000,
  /** What a word adds that stands in the text (at most, the more often the nearer to it), in headings, in the title. */
  fields: { text: 1, headings: 0.3, title: 0.25 },
  /** The part of its neighbours' score that a passage has in the second ranking. */
  neighbours: 0.25,
  /** The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009). */
  fusion: 60,
  /** Passages of one page, before passages of all other pages have had their turn. */
  ofOnePage: 2,
  /** What counts as a page where there are none, in passages. */
  withoutPages: 5,
} as const;

/**
 * Weighs by rarity, as BM25 does: what everything has says nothing, in any language. The rarest terms choose, until they have
 * chosen enough; the rarest of all always does.
 * @param total passages of the club
 * @returns the rarest first
 */
export function weigh(terms: readonly Term[], total: number): WeighedTerm[] {
  let before = 0; // passages of rarer terms: where these are too many once, they stay too many
  return terms
    .toSorted((a, b) => a.passages - b.passages || a.word - b.word || (a.lexeme < b.lexeme ? -1 : 1))
    .slice(0, rankingRules.terms)
    .map((term, place) => {
      const chooses = place === 0 || before + term.passages <= rankingRules.candidates;
      before += term.passages;
      const rarity = Math.log(1 + (Math.max(total, term.passages) - term.passages + 0.5) / (term.passages + 0.5));
      return { ...term, weight: rarity * term.likeness, chooses };
    });
}
