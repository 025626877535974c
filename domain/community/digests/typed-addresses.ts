/** Addresses that somebody typed: a mail of ours must not make links of them for strangers (DEC-64). */

const link = '[link]';

/** @returns the text with `[link]` for each address, up to the next white space */
export function withoutAddresses(text: string): string {
  return text.replaceAll(/\S+/gu, (word) => {
    const start = startOfAddress(word);
    return start === undefined ? word : word.slice(0, start) + link;
  });
}

/** @param word without white space @returns where the first address in it begins that has something behind its scheme, or its `www.` */
function startOfAddress(word: string): number | undefined {
  const starts = [/\bwww\.(?=.)/iu.exec(word)?.index, startOfScheme(word)].filter((start) => start !== undefined);
  return starts.length === 0 ? undefined : Math.min(...starts);
}

/** Each run of characters that a scheme may have is looked at once, and not from each of its letters on. */
function startOfScheme(word: string): number | undefined {
  for (const { 0: run, index } of word.matchAll(/[a-z0-9+.-]+/giu)) {
    const end = index + run.length;
    if (!word.startsWith('://', end) || end + '://'.length === word.length) continue;
    const before = word.slice(Math.max(0, index - 1), index); // it may be of the same word, such as a low line
    const first = firstLetter.exec(before + run)?.index;
    if (first !== undefined) return index - before.length + first;
  }
  return undefined;
}

/** A scheme begins with a letter, and its word with it. */
const firstLetter = /\b[a-z]/iu;
