/** Hides web addresses that people typed, because mail programs would turn them into links in a mail of the platform (DEC-64). */

const link = '[link]';

/** @returns the text with `[link]` instead of each address, up to the next white space */
export function withoutAddresses(text: string): string {
  return text.replaceAll(/\S+/gu, (word) => {
    const start = startOfAddress(word);
    return start === undefined ? word : word.slice(0, start) + link;
  });
}

/**
 * @param word without white space
 * @returns the start of the first address in the word. An address begins with `www.` or a scheme, and has text after it
 */
function startOfAddress(word: string): number | undefined {
  const starts = [/\bwww\.(?=.)/iu.exec(word)?.index, startOfScheme(word)].filter((start) => start !== undefined);
  return starts.length === 0 ? undefined : Math.min(...starts);
}

/** Reads each sequence of scheme characters only once, so that the time grows only linearly with the length of a word. */
function startOfScheme(word: string): number | undefined {
  for (const { 0: run, index } of word.matchAll(/[a-z0-9+.-]+/giu)) {
    const end = index + run.length;
    if (!word.startsWith('://', end) || end + '://'.length === word.length) continue;
    const before = word.slice(Math.max(0, index - 1), index); // a character before it, such as an underscore, may belong to the word
    const first = firstLetter.exec(before + run)?.index;
    if (first !== undefined) return index - before.length + first;
  }
  return undefined;
}

/** A scheme begins with a letter at the beginning of a word. */
const firstLetter = /\b[a-z]/iu;
