/** Splits a text into the words that the gold set compares. */

const unseen = /[\u00AD\u061C\u180E\u200B\u200E\u200F\u202A-\u202E\u2060-\u2064\u2066-\u206F\uFEFF\uFFF9-\uFFFB]/gu;
const raised = /[\u00B2\u00B3\u00B9\u2070-\u207F]+/g;
const lowered = /[\u2080-\u209C]+/g;
/** Beside these, blanks do not matter: `E = mc²` is `E=mc²`. */
const signs = /[ ]*([=+×÷·≤≥≈±])[ ]*/g;

/** These scripts have no blanks between words. */
const unspaced = '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}ー々';
const unspacedMarks = '、。「」『』，：；！？（）・';
const gap = new RegExp(`(?<=[${unspaced}${unspacedMarks}]) +(?=[${unspaced}${unspacedMarks}])`, 'gu');
const pieces = new RegExp(`[${unspaced}]\\p{M}*|[^${unspaced}${unspacedMarks}]+`, 'gu');

/** Stands for a blank between two letters of such a script. */
const blank = '␣';

/** These characters are removed from both ends of a word. */
const ends = '.,;:!?…()[]{}"\'“”‘’«»„|•◦▪‣●○■□☐☑☒–—·*،؛؟।';

/**
 * Changes a text to one spelling, so that two texts can be compared. `10³`, `10^{3}` and `10^(3)` become `10^3`, and subscripts become
 * `H_2O`. Marks without width are removed, except U+200C and U+200D.
 */
export function canonical(text: string): string {
  return text
    .toWellFormed()
    .replace(unseen, '')
    .replace(/\r\n?/g, '\n')
    .replace(/[^\S\n]+/gu, ' ')
    .replace(raised, (run) => `^${run.normalize('NFKD')}`)
    .replace(lowered, (run) => `_${run.normalize('NFKD')}`)
    .replace(
      /([_^])(?:\{([^{}]{1,40})\}|\(([^()]{1,40})\))/g,
      (_, sign: string, one?: string, other?: string) => sign + (one ?? other),
    )
    .replace(/[\u2010\u2011\u2212]/g, '-')
    .replace(signs, '$1')
    .normalize('NFC');
}

/**
 * @param same each spelling is replaced by its key
 * @returns words without punctuation at their ends. In scripts without blanks each letter is a word, and so is a blank between two letters
 */
export function tokensOf(text: string, same: Readonly<Record<string, readonly string[]>> = {}): string[] {
  let spelled = canonical(text);
  for (const [word, spellings] of Object.entries(same)) {
    for (const spelling of spellings) spelled = spelled.replaceAll(canonical(spelling), () => canonical(word));
  }
  return spelled
    .replace(gap, ` ${blank} `)
    .split(/\s+/)
    .flatMap((word) => (word === blank ? [word] : (word.match(pieces) ?? [])))
    .map(withoutEnds)
    .filter((word) => word !== '');
}

function withoutEnds(word: string): string {
  let start = 0;
  let end = word.length;
  while (start < end && ends.includes(word.charAt(start))) start += 1;
  while (end > start && ends.includes(word.charAt(end - 1))) end -= 1;
  return word.slice(start, end);
}
