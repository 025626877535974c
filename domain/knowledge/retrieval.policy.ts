/** Ranks passages: decides which words of a question select passages, and which weight each word has (docs/adr/0014-retrieval.md). */

/**
 * A word stem in the club's material that corresponds to a word of the question: it is the same word, or a word with a similar spelling.
 */
export interface Term {
  /** The index of the word in the question, from 0. Only the best stem of a word counts. */
  word: number;
  lexeme: string;
  /** The number of the club's passages that contain the stem. */
  passages: number;
  /** 1 for the word itself, less for a similar spelling. */
  likeness: number;
}

export interface WeighedTerm extends Term {
  weight: number;
  /** Whether the term selects passages. A term that selects nothing only ranks the passages that other terms have selected. */
  chooses: boolean;
}

export const rankingRules = {
  /** The maximum number of words of a question that are used, from its beginning. */
  words: 400,
  /** The maximum number of stems that are used to select and rank passages. The rarest stems are used. */
  terms: 24,
  /** The maximum number of words for which similarly spelled words are searched, because the material does not contain them. */
  misspelled: 6,
  /** Limits the cost of a search in which every word is common. */
  candidates: 1_000,
  /**
   * The maximum scores of a word in the text, in the headings, and in the title. Each occurrence in the text brings the score nearer to the
   * maximum.
   */
  fields: { text: 1, headings: 0.3, title: 0.25 },
  /** The passages are ranked twice. In the second ranking, a passage also gets this share of the scores of its neighbours. */
  neighbours: 0.25,
  /** The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009). */
  fusion: 60,
  /** From one page, at most this number of passages are ranked before the best passages of other pages. */
  ofOnePage: 2,
  /** In a source without pages, this number of consecutive passages counts as one page. */
  withoutPages: 5,
} as const;

/**
 * Weighs terms by rarity, as BM25 does: a word that all passages contain has no weight, in any language. The rarest terms select passages
 * until enough passages are selected. The rarest term always selects passages.
 * @param total the number of the club's passages
 * @returns the rarest first
 */
export function weigh(terms: readonly Term[], total: number): WeighedTerm[] {
  let before = 0; // once the terms so far may select this many passages, further terms select none
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
