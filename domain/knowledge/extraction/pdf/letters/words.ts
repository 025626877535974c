/** Joins lines to a text: puts broken words together, and handles scripts without spaces. */
import { withoutEnds } from '../../../../../platform/core/text/ends.policy.ts';
import { cleanText } from '../../text.policy.ts';
import { isUnspaced } from './pdf-letters.ts';

/** The words of a document in lower case. They show how to join the parts of a broken word. */
export interface Words {
  /** Words that occur with a hyphen inside a line. If such a word is broken at its hyphen, it keeps the hyphen. */
  hyphenated: ReadonlySet<string>;
  /** Words that occur without a hyphen inside a line. */
  whole: ReadonlySet<string>;
}

/** @returns the words of the text that have a hyphen inside */
export function* hyphenatedWords(text: string): Generator<string> {
  for (const [run] of text.matchAll(/[\p{L}-]+/gu)) {
    for (const part of run.split('--')) {
      const word = withoutEnds(part, '-');
      if (word.includes('-')) yield word;
    }
  }
}

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

/** A longer text is not a real word, and is not looked up. */
const longestWord = 100;
const hyphens = '-\u2010\u00AD';
const softHyphen = '\u00AD';

/** Joins lines to a text. If a word is hyphenated at the end of a line, its parts become one word. */
export function joined(lines: readonly { text: string }[], words: Words): string {
  const parts: string[] = [];
  /** The last line so far. If its first word began in the previous line, this value also includes the beginning of the word. */
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

/** Returns the text between two joined lines: a space, or nothing between letters of scripts without spaces. */
function blankBetween(before: string, after: string): string {
  const [last, next] = [lastLetter(before.trimEnd()), /^\s*(.)/u.exec(after)?.[1] ?? ''];
  return isUnspaced(last) && isUnspaced(next) ? '' : ' ';
}

function lastLetter(text: string): string {
  return Array.from(text.slice(-2)).at(-1) ?? '';
}

/**
 * The words between two compound words with a common part: "Haupt- und Nebensaison", "first- or second-class". A hyphen before such a word
 * stays.
 */
const joinsWords = new Set('und oder bis and or to y o e ou et u'.split(' '));
/** Shorter parts of a divided word are often syllables, and not words of their own. */
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

/** @returns the last letters before a final hyphen, at most {@link longestWord}; undefined without them */
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
