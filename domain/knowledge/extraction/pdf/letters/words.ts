/** Joins lines to text. Handles words that are broken at the end of a line, and scripts without spaces. */
import { withoutEnds } from '../../../../../platform/core/text/ends.policy.ts';
import { cleanText } from '../../text.policy.ts';
import { isUnspaced } from './pdf-letters.ts';

/** The words of a document in lower case, by which broken words are joined. */
export interface Words {
  /** Words that have a hyphen inside a line. They keep the hyphen at the end of a line. */
  hyphenated: ReadonlySet<string>;
  /** Words that occur without a hyphen inside a line. */
  whole: ReadonlySet<string>;
}

/** @returns the words with single hyphens inside */
export function* hyphenatedWords(text: string): Generator<string> {
  for (const [run] of text.matchAll(/[\p{L}-]+/gu)) {
    for (const part of run.split('--')) {
      const word = withoutEnds(part, '-');
      if (word.includes('-')) yield word;
    }
  }
}

/** @param texts the texts of lines */
export function wordsOf(texts: Iterable<string>): Words {
  const [hyphenated, whole] = [new Set<string>(), new Set<string>()];
  for (const text of texts) {
    for (const word of hyphenatedWords(text)) hyphenated.add(word.toLowerCase());
    // The first and the last word of a line are not counted, because they may be parts of a broken word.
    for (const word of text.match(/\p{L}+/gu)?.slice(1, -1) ?? [])
      if (word.length <= longestWord) whole.add(word.toLowerCase());
  }
  return { hyphenated, whole };
}

/** The maximum length of a hyphenated word that is looked up. Longer texts are not real words. */
const longestWord = 100;
const hyphens = '-\u2010\u00AD';
const softHyphen = '\u00AD';

/** Joins lines to text. The parts of a word that is hyphenated at the end of a line become one word. */
export function joined(lines: readonly { text: string }[], words: Words): string {
  const parts: string[] = [];
  /** The last line so far. If its first word began in the line before, it also includes that part of the word. */
  let end = '';
  for (const { text: line } of lines) {
    const isFirst = end === '' && parts.length === 0;
    if (/\d[-\u2010–]\s*$/u.test(end.slice(-8)) && /^\s*\d/u.test(line)) {
      parts.push(end.trimEnd());
      end = line.trimStart();
      continue;
    }
    const start = brokenWord(end);
    const rest = start === undefined ? undefined : /^\s*(\p{L}+|\d+)/u.exec(line)?.[1];
    if (start === undefined || rest === undefined) {
      if (!isFirst) parts.push(end, blankBetween(end, line));
      end = line;
      continue;
    }
    const withHyphen = end.trimEnd();
    const between = keptBetween(start, withHyphen.slice(-1), rest, words);
    parts.push(withHyphen.slice(0, -1 - start.length));
    end = start + between + line.trimStart();
  }
  return cleanText(parts.join('') + end);
}

/** There is no space between words of scripts without spaces, nor after a soft hyphen. */
function blankBetween(before: string, after: string): string {
  const [last, next] = [lastLetter(before.trimEnd()), /^\s*(.)/u.exec(after)?.[1] ?? ''];
  return isUnspaced(last) && isUnspaced(next) ? '' : ' ';
}

function lastLetter(text: string): string {
  return Array.from(text.slice(-2)).at(-1) ?? '';
}

/**
 * The words that join two compound words with a common part: "Haupt- und Nebensaison", "first- or second-class". The hyphen before such a
 * word stays.
 */
const joinsWords = new Set('und oder bis and or to y o e ou et u'.split(' '));
/** The minimum length of a part that counts as a word. Shorter words are often syllables of other words. */
const shortestPart = 4;

/** @returns the characters between the two parts of a word that was divided at the end of a line */
function keptBetween(start: string, hyphen: string, rest: string, { hyphenated, whole }: Words): string {
  if (hyphen === softHyphen) return '';
  if (!/^\p{Ll}/u.test(rest)) return hyphen; // Nord-Süd, COVID-19
  const [first, second] = [start.toLowerCase(), rest.toLowerCase()];
  if (hyphenated.has(`${first}-${second}`)) return hyphen;
  if (whole.has(first + second)) return '';
  if (joinsWords.has(second) && whole.has(first)) return `${hyphen} `;
  const areWords = [first, second].every((word) => word.length >= shortestPart && whole.has(word));
  return areWords ? hyphen : '';
}

/**
 * @returns the letters before a final hyphen, at most {@link longestWord} of them; undefined if the text does not end in a word with a
 *   hyphen
 */
function brokenWord(text: string): string | undefined {
  const line = text.trimEnd();
  if (line === '' || !hyphens.includes(line.slice(-1))) return undefined;
  const letters = Array.from(line.slice(-2 * longestWord - 1, -1));
  const before = letters.findLastIndex((letter) => !/\p{L}/u.test(letter));
  const word = letters
    .slice(before + 1)
    .slice(-longestWord)
    .join('');
  return word === '' ? undefined : word;
}
