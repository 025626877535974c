/** The words for the search of passages (docs/adr/0061-search-in-every-script.md). They are stored beside each passage. */
import { isPlain, searchWords } from '../search-words/search-words.policy.ts';
import type { Passage } from './passages.policy.ts';

export interface SearchedPassage extends Passage {
  /** The words of the headings and the words of the text. Words are separated by spaces. */
  words: { headings: string | null; text: string | null };
}

/** @returns the words of a text, separated by spaces; null if Postgres finds the same words itself */
export function storedWords(text: string): string | null {
  return isPlain(text) ? null : searchWords(text);
}

/** Splits the words of a passage. This takes up to a millisecond, so it runs in the bounded thread that cuts passages. */
export function withWords(passage: Passage): SearchedPassage {
  return { ...passage, words: { headings: storedWords(passage.headings.join(' ')), text: storedWords(passage.text) } };
}
