/**
 * Splits passages and questions into words for the search (docs/adr/0061-search-in-every-script.md). Postgres gets the words of any script
 * separated by spaces, and need not split a text.
 */
import { foldSearched } from './folding.policy.ts';

/** The maximum number of code points of a word. A longer word is split, because Postgres does not store longer words (agent_words). */
export const longestWord = 64;

/**
 * The maximum number of code points that the segmenter gets at a time, if a text has no spaces. Because of this limit, a text of an
 * attacker takes no more time than any other long text.
 */
const longestPiece = 500;

/**
 * Matches a text of Latin letters, and of signs that are never part of a word. In such a text, Postgres finds the same words as {@link
 * searchWords}. Only a text with other letters must be divided into words here.
 */
const latin =
  // oxlint-disable-next-line no-control-regex
  /^[\u0000-\u00AC\u00AE-\u012F\u0131-\u0148\u014A-\u024F\u1E00-\u1EFF\u2010-\u2027\u2030-\u205E\u20A0-\u20BF]*$/u;

/** Matches words of letters, numbers, and their marks. */
const runs = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu;
const hasLetter = /[\p{L}\p{N}]/u;

/** Divides a word into parts. Letters of scripts without spaces, and of Hangul (whose words end in particles), form parts of their own. */
const dense =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Bopomofo}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}\p{scx=Hangul}]+|[^\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Bopomofo}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}\p{scx=Hangul}]+/gu;
const isDense =
  /^[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Bopomofo}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}\p{scx=Hangul}]/u;

/** The segmenter has a fixed language, so that the words of a text do not depend on the settings of the machine. */
const segmenter = new Intl.Segmenter('en', { granularity: 'word' });

const katakana = /[\u30A1-\u30F6\u30FD\u30FE]/gu;
const asHiragana = (letter: string) => String.fromCodePoint((letter.codePointAt(0) ?? 0) - 0x60);
const longVowel = /(?<=.{3})ー$/u;

/**
 * Yields the words of a text in order, and may yield a word more than once. For scripts without spaces, the function yields words of a
 * dictionary, and also all pairs of neighbouring letters. The pairs are needed because a dictionary may divide two similar texts
 * differently.
 * @param text any text of any length. No character of the text has a special meaning
 */
export function* wordsOf(text: string): Generator<string> {
  for (const [run] of foldSearched(text).matchAll(runs))
    for (const [part] of run.matchAll(dense)) {
      if (!hasLetter.test(part)) continue;
      for (const piece of piecesOf(part, isDense.test(part) ? longestPiece : longestWord))
        if (isDense.test(piece)) yield* denseWords(piece);
        else yield piece;
    }
}

/** @returns the words of a text, separated by spaces */
export function searchWords(text: string): string {
  return [...wordsOf(text)].join(' ');
}

/** @returns whether Postgres splits the text into the same words as {@link searchWords}. The words of such a text are not stored */
export function isPlain(text: string): boolean {
  return latin.test(text);
}

const han = /\p{Script=Han}/u;
/** Two or more Hangul syllables. Only their pairs are searched, because a Korean word rarely occurs again with exactly its particles. */
const hangulWord = /^\p{Script=Hangul}{2,}$/u;
/** A letter with its marks. A long sequence of marks counts as several letters. */
const letter = /\P{M}\p{M}{0,20}|\p{M}{1,20}/gu;

/**
 * Cuts a text into pieces, always before a letter. A cut can separate a letter from its marks only if the letter has too many marks for one
 * piece.
 */
function* piecesOf(text: string, longest: number): Generator<string> {
  if (text.length <= longest) {
    yield text;
    return;
  }
  let piece = '';
  let length = 0;
  for (const [cluster] of text.matchAll(letter)) {
    const size = cluster.length;
    if (length > 0 && length + size > longest) {
      yield piece;
      piece = '';
      length = 0;
    }
    piece += cluster;
    length += size;
  }
  if (piece !== '') yield piece;
}

/**
 * A dictionary finds words, but may divide two similar texts differently. Pairs of letters match however the texts are divided. Single Han
 * characters match words that share one character, such as 烫 in 烫伤 and 烫到.
 */
function* denseWords(piece: string): Generator<string> {
  for (const { segment } of segmenter.segment(piece))
    if (hasLetter.test(segment) && !hangulWord.test(segment)) yield* piecesOf(spelled(segment), longestWord);
  let before: string | undefined;
  for (const [one] of spelled(piece).matchAll(letter)) {
    if (han.test(one)) yield one;
    if (before !== undefined) yield before + one;
    before = one;
  }
}

/**
 * Replaces katakana by hiragana, which write the same sounds, and drops the long vowel at the end of a loanword, which people often leave
 * out.
 */
function spelled(word: string): string {
  return word.replace(longVowel, '').replace(katakana, asHiragana);
}
