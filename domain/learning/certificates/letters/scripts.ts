/** Finds the script of a letter, as an ISO 15924 tag. HarfBuzz needs it, because a font has rules for each script. */

const scripts: readonly (readonly [tag: string, letters: RegExp])[] = [
  ['Latn', /\p{Script=Latin}/u],
  ['Grek', /\p{Script=Greek}/u],
  ['Cyrl', /\p{Script=Cyrillic}/u],
  ['Arab', /\p{Script=Arabic}/u],
  ['Hebr', /\p{Script=Hebrew}/u],
  ['Hani', /\p{Script=Han}/u],
  ['Kana', /[\p{Script=Hiragana}\p{Script=Katakana}]/u],
  ['Hang', /\p{Script=Hangul}/u],
  ['Deva', /\p{Script=Devanagari}/u],
  ['Beng', /\p{Script=Bengali}/u],
  ['Taml', /\p{Script=Tamil}/u],
  ['Thai', /\p{Script=Thai}/u],
  ['Gujr', /\p{Script=Gujarati}/u],
  ['Guru', /\p{Script=Gurmukhi}/u],
  ['Knda', /\p{Script=Kannada}/u],
  ['Mlym', /\p{Script=Malayalam}/u],
  ['Telu', /\p{Script=Telugu}/u],
  ['Sinh', /\p{Script=Sinhala}/u],
  ['Khmr', /\p{Script=Khmer}/u],
  ['Ethi', /\p{Script=Ethiopic}/u],
  ['Armn', /\p{Script=Armenian}/u],
  ['Geor', /\p{Script=Georgian}/u],
  ['Laoo', /\p{Script=Lao}/u],
  ['Nkoo', /\p{Script=Nko}/u],
];

/** @returns undefined for characters that all scripts share, such as digits and spaces */
export function scriptOf(text: string): string | undefined {
  return scripts.find(([, letters]) => letters.test(text))?.[0];
}
