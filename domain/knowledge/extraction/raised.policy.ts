/**
 * Writes raised and lowered letters in plain text: `10³`, `H₂O`. Otherwise 10³ would become 103. Unicode has raised and lowered forms only
 * for digits, signs and some letters. Before any other raised or lowered word, the module writes `^` or `_`.
 */

const raisedForms = new Map(
  Object.entries({
    '0': '⁰', '1': '¹', '2': '²', '3': '³', '4': '⁴', '5': '⁵', '6': '⁶', '7': '⁷', '8': '⁸', '9': '⁹',
    '+': '⁺', '-': '⁻', '−': '⁻', '–': '⁻', '=': '⁼', '(': '⁽', ')': '⁾', n: 'ⁿ', i: 'ⁱ',
  }),
); // prettier-ignore
const loweredForms = new Map(
  Object.entries({
    '0': '₀', '1': '₁', '2': '₂', '3': '₃', '4': '₄', '5': '₅', '6': '₆', '7': '₇', '8': '₈', '9': '₉',
    '+': '₊', '-': '₋', '−': '₋', '–': '₋', '=': '₌', '(': '₍', ')': '₎',
  }),
); // prettier-ignore

/** Raised words that mean the same when they are not raised: "1st", "Mme", "N.º", "TM". */
const onlyRaisedByCustom = /^(?:st|nd|rd|th|e|er|re|ère|ème|me|mes|os|as|a|o|ª|º|TM|®|©|™|\u2032|\u2033|°|['"*†‡§])$/u;

/** @param text the raised words @returns the raised or lowered letters in plain text, with the spaces at their ends */
export function raised(text: string): string {
  return formed(text, raisedForms, '^');
}

/** @param text the lowered words */
export function lowered(text: string): string {
  return formed(text, loweredForms, '_');
}

/** Returns the mark of a footnote in brackets, separated from the word before it: `45 [1]`. */
export function noteMark(text: string): string {
  const mark = text.trim().replace(/^[[(]|[\])]$/g, '');
  return mark === '' ? '' : ` [${mark}]`;
}

function formed(text: string, forms: ReadonlyMap<string, string>, sign: string): string {
  const word = text.trim();
  if (word === '' || onlyRaisedByCustom.test(word)) return text;
  const [before = '', after = ''] = text.split(word);
  const letters = Array.from(word, (letter) => forms.get(letter));
  if (letters.every((letter) => letter !== undefined)) return before + letters.join('') + after;
  return before + sign + (Array.from(word).length === 1 ? word : `(${word})`) + after;
}
