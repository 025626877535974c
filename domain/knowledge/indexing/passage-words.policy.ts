/** The words by which passages are searched (docs/adr/0061-search-in-every-script.md), as they are written beside a passage. */
import { isPlain, searchWords } from '../search-words/search-words.policy.ts';
import type { Passage } from './passages.policy.ts';

export interface SearchedPassage extends Passage {
  /** Words of the headings and of the text, with blanks between them. */
  words: { headings: string | null; text: string | null };
}

/** @returns the words of a text with blanks between them; null where Postgres finds the same ones by itself */
export function storedWords(text: string): string | null {
  return isPlain(text) ? null : searchWords(text);
}

/** Takes the words of a passage apart. That costs up to a millisecond, so it is done where passages are cut, in the bounded thread. */
export function withWords(passage: Passage): SearchedPassage {
  return { ...passage, words: { headings: storedWords(passage.headings.join(' ')), text: storedWords(passage.text) } };
}
