/** The ranking of passages: which words of a question select them, and the weight of each word (docs/adr/0014-retrieval.md). */

/** A stem of a word in the club's material. It has the same meaning as a word of the question, or a similar spelling. */
export interface Term {
  /** The index of the question's word, from 0. If several stems belong to a word, only the best of them counts. */
  word: number;
  lexeme: string;
  /** The number of the club's passages that contain the stem. */
  passages: number;
  /** The similarity of the words: 1 for the same word, and less than 1 if the question's word is only spelled similarly. */
  likeness: number;
}

export interface WeighedTerm extends Term {
  weight: number;
  /** Whether the term selects passages. Otherwise it only ranks passages that other terms have selected. */
  chooses: boolean;
}

export const rankingRules = {
  /** The maximum number of words of a question that are used, from its beginning. */
  words: 400,
  /** The maximum number of stems that select and rank. The rarest stems are used. */
  terms: 24,
  /** The maximum number of words outside the material that are looked up by their spelling. */
  misspelled: 6,
  /** The number of passages that are ranked. This limit also bounds the cost of a search in which every word is common. */
  candidates: 1_000,
  /**
   * The maximum scores of a word in the text, in the headings, and in the title. In the text, the score comes nearer to the maximum with
   * each further occurrence.
   */
  fields: { text: 1, headings: 0.3, title: 0.25 },
  /** There are two rankings. In the second ranking, a passage also gets this share of the score of its neighbours. */
  neighbours: 0.25,
  /** The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009). */
  fusion: 60,
  /** At most this number of passages of one page are ranked before the best passages of the other pages. */
  ofOnePage: 2,
  /** In sources without pages, this number of passages counts as a page. */
  withoutPages: 5,
} as const;

/**
 * Weighs terms by rarity, as BM25 does: a word that all passages contain has no weight, in any language. The rarest terms select passages
 * until enough passages are selected. The rarest term always selects passages.
 * @param total the number of the club's passages
 * @returns the rarest first
 */
export function weigh(terms: readonly Term[], total: number): WeighedTerm[] {
  let before = 0; // the number of passages that contain the rarer terms. If this number is too high, further terms do not select passages
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
