/**
 * The words by which a text is searched, of passages and of questions alike (docs/adr/0061-search-in-every-script.md): Postgres is given
 * words with blanks between them, in any script, and never has to take a text apart.
 */
import { foldSearched } from './folding.policy.ts';

/** Code points of a word: a longer one is several. Postgres counts no longer word (agent_words). */
export const longestWord = 64;

/** Code points without a blank that the segmenter is given in one piece, so that a hostile text costs no more than a long one. */
const longestPiece = 500;

/**
 * Text of letters whose words Postgres finds as {@link searchWords} does: Latin letters and signs that no word has. What holds any other
 * letter is taken apart here.
 */
const latin =
  // oxlint-disable-next-line no-control-regex
  /^[\u0000-\u00AC\u00AE-\u012F\u0131-\u0148\u014A-\u024F\u1E00-\u1EFF\u2010-\u2027\u2030-\u205E\u20A0-\u20BF]*$/u;

/** Letters, numbers, and the marks that belong to them. */
const runs = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu;
const hasLetter = /[\p{L}\p{N}]/u;

/** Scripts that leave no blank between words, and Hangul, whose words have particles at their end. */
const dense =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Bopomofo}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}\p{scx=Hangul}]+|[^\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Bopomofo}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}\p{scx=Hangul}]+/gu;
const isDense =
  /^[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Bopomofo}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}\p{scx=Hangul}]/u;

/** The language is fixed: the words of a text must not depend on where a process runs. */
const segmenter = new Intl.Segmenter('en', { granularity: 'word' });

const katakana = /[\u30A1-\u30F6\u30FD\u30FE]/gu;
const asHiragana = (letter: string) => String.fromCodePoint((letter.codePointAt(0) ?? 0) - 0x60);
const longVowel = /(?<=.{3})ー$/u;

/**
 * Yields the words of a text in their order, some more than once. Of scripts without blanks these are the words of a dictionary and,
 * because no two texts are cut alike, every two letters beside one another.
 * @param text any text of any length: nothing of it is an operator
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

/** @returns the words of a text with a blank between any two */
export function searchWords(text: string): string {
  return [...wordsOf(text)].join(' ');
}

/** @returns whether Postgres finds the words of this text by itself, so that they need not be stored beside it */
export function isPlain(text: string): boolean {
  return latin.test(text);
}

const han = /\p{Script=Han}/u;
/** Two syllables and more: with its particles a word of Korean stands in few texts, and its pairs of syllables in many. */
const hangulWord = /^\p{Script=Hangul}{2,}$/u;
/** A letter with its marks; marks without end are several. */
const letter = /\P{M}\p{M}{0,20}|\p{M}{1,20}/gu;

/** Cut before a letter, never between it and its marks, unless it has more marks than a piece has room for. */
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
 * A dictionary finds words, but cuts two texts differently; pairs of letters are found wherever a text is cut, and single Han
 * characters by what two words have in common, as 烫 in 烫伤 and 烫到.
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

/** Hiragana and katakana write the same sounds, and a long vowel at the end of a loanword is left out as often as not. */
function spelled(word: string): string {
  return word.replace(longVowel, '').replace(katakana, asHiragana);
}
