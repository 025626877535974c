/** Computes the words by which a passage is found (docs/adr/0061-search-in-every-script.md). The words are stored with the passage. */
import { isPlain, searchWords } from '../search-words/search-words.policy.ts';
import type { Passage } from './passages.policy.ts';

export interface SearchedPassage extends Passage {
  /** The words of a passage's headings and of its text, each as one string of words that are separated by spaces. */
  words: { headings: string | null; text: string | null };
}

/**
 * @returns the words of the text, separated by spaces; null for a text in Latin letters, because Postgres splits such a text into the same
 * words
 */
export function storedWords(text: string): string | null {
  return isPlain(text) ? null : searchWords(text);
}

/**
 * Splits a passage into words. This takes up to a millisecond. So the thread that cuts passages does it, because this thread has a time
 * limit.
 */
export function withWords(passage: Passage): SearchedPassage {
  return { ...passage, words: { headings: storedWords(passage.headings.join(' ')), text: storedWords(passage.text) } };
}
