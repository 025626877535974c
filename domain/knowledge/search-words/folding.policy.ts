/**
 * Gives all variants of a word the same spelling, so that keyboards, fonts and writing habits have no effect on a search
 * (docs/adr/0061-search-in-every-script.md). Marks that make a different word stay with their letter, such as accents of Latin letters and
 * vowels of Indic scripts.
 */

/** Letters that people often type for a similar letter, and the letter that replaces them. */
const variants: Readonly<Record<string, string>> = {
  // Arabic: alef with hamza or madda, Persian yeh and kaf, Urdu and Kurdish heh
  آ: 'ا',
  أ: 'ا',
  إ: 'ا',
  ٱ: 'ا',
  ى: 'ي',
  ی: 'ي',
  ې: 'ي',
  ے: 'ي',
  ک: 'ك',
  ڪ: 'ك',
  ہ: 'ه',
  ۀ: 'ه',
  ھ: 'ه',
  ە: 'ه',
  ۃ: 'ة',
  // Devanagari with a nukta in one character, and chandrabindu
  ऩ: 'न',
  ऱ: 'र',
  ऴ: 'ळ',
  '\u0901': '\u0902',
  // Greek final sigma; Russian yo
  ς: 'σ',
  ё: 'е',
};
/** The Unicode blocks of the variants above. */
// oxlint-disable-next-line no-misleading-character-class
const variant = /[ςё\u0620-\u06D5\u0901\u0929\u0931\u0934]/gu;

/** The Arabic letter heh at the end of a word, after at least two letters. */
const finalHeh = /(?<=\p{L}{2})ه(?!\p{L})/gu;

/**
 * Matches marks that people may leave out: vowels of Arabic and Hebrew, nuktas, Cyrillic stress, and the stroke (tatweel) that only
 * stretches a word.
 */
const optionalMarks =
  // oxlint-disable-next-line no-misleading-character-class
  /[\u0591-\u05BD\u05BF\u05C1\u05C2\u05C4\u05C5\u05C7\u0610-\u061A\u0640\u064B-\u065F\u0670\u06D6-\u06DC\u06DF-\u06E8\u06EA-\u06ED\u08D3-\u08FF\u093C\u09BC\u0A3C\u0ABC\u0B3C\u0CBC]/gu;
const stressed = /(\p{Script=Cyrillic})[\u0300\u0301\u0308]+/gu;
const invisible = /\p{Default_Ignorable_Code_Point}/gu;

/** Matches a nasal consonant before a consonant of the same group. People also write the nasal as a dot: हिन्दी and हिंदी. */
const nasals = /ङ\u094D(?=[क-घ])|ञ\u094D(?=[च-झ])|ण\u094D(?=[ट-ढ])|न\u094D(?=[त-ध])|म\u094D(?=[प-भ])/gu;

/**
 * Thai and Lao vowels that NFKC decomposes, or that people type as two characters. The segmenter's dictionaries contain each of these
 * vowels as one character.
 */
const composed: readonly (readonly [RegExp, string])[] = [
  [/\u0E4D([\u0E48-\u0E4B]?)\u0E32/gu, '$1\u0E33'],
  [/\u0ECD([\u0EC8-\u0ECB]?)\u0EB2/gu, '$1\u0EB3'],
  [/\u0E40\u0E40/gu, '\u0E41'],
];

const foreignDigit = /(?![0-9])\p{Nd}/gu;
const digit = /\p{Nd}/u;

/** @returns the digit in ASCII. In Unicode, the digits of each script are in order from 0 to 9 */
function asciiDigit(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  let value = 0;
  while (value < 9 && digit.test(String.fromCodePoint(code - value - 1))) value++;
  return String(value);
}

/**
 * The maximum number of times that a text is folded. Only unusual sequences of marks need a second round, because two marks can become one
 * character after a mark between them is removed.
 */
const rounds = 8;

/**
 * Removes differences of width, compatibility forms, case, decomposed letters, digits of every script, and equivalent spellings. Folding a
 * folded text changes nothing.
 * @param text any text. A lone surrogate becomes U+FFFD
 */
export function foldSearched(text: string): string {
  let folded = foldOnce(text.toWellFormed());
  for (let round = 1; round < rounds; round++) {
    const again = foldOnce(folded);
    if (again === folded) break;
    folded = again;
  }
  return folded;
}

function foldOnce(text: string): string {
  let folded = text
    .replace(invisible, '')
    .normalize('NFKC')
    .replaceAll('İ', 'i')
    .toLowerCase()
    .normalize('NFKC')
    .replace(optionalMarks, '')
    .replace(stressed, '$1');
  for (const [parts, whole] of composed) folded = folded.replace(parts, whole);
  return folded
    .replace(variant, (letter) => variants[letter] ?? letter)
    .replace(finalHeh, 'ة')
    .replace(nasals, '\u0902')
    .replace(foreignDigit, asciiDigit)
    .normalize('NFC');
}
