/** The codes of certificates. A code is easy to read aloud and to type, and its check character detects typing mistakes. */

/** The 31 characters of codes. 0, 1, I, L and O are left out, because they look like other characters. 31 is a prime number. */
export const codeAlphabet = '23456789ABCDEFGHJKMNPQRSTUVWXYZ';

/** Includes the check character at the end. */
export const codeLength = 12;

/**
 * Appends the check character to a code. The characters are numbers, and each position has a different weight, from 1 at the end to 12 at
 * the beginning. The check character makes the weighted sum divisible by 31. Because 31 is a prime number, the sum shows every single wrong
 * character, and every swap of two characters.
 * @param drawn eleven characters of the alphabet
 */
export function completeCode(drawn: string): string {
  const rest = weightedSum(`${drawn}${codeAlphabet.charAt(0)}`) % codeAlphabet.length;
  return drawn + codeAlphabet.charAt((codeAlphabet.length - rest) % codeAlphabet.length);
}

/** Returns the printed form of a code, in groups of four characters. */
export function formatCode(code: string): string {
  return code.replaceAll(/.{4}(?=.)/g, '$&-');
}

/**
 * Reads a code as people type it: in any case, with or without spaces and dashes at any position.
 * @returns the unformatted code, or undefined if the text cannot be a code
 */
export function readCode(text: string): string | undefined {
  const code = withoutSeparators(text);
  if (!isOfAlphabet(code) || code.length !== codeLength) return undefined;
  return weightedSum(code) % codeAlphabet.length === 0 ? code : undefined;
}

/** The minimum number of characters that a search inside codes needs: one printed group. */
const shortestPart = 4;

/** @returns the search text without separators; undefined if it cannot be a part of a code */
export function readPartOfCode(text: string): string | undefined {
  const part = withoutSeparators(text);
  return isOfAlphabet(part) && part.length >= shortestPart && part.length <= codeLength ? part : undefined;
}

/** Removes the separators between groups: white space, hyphens, and the dashes with which some programs replace hyphens. */
function withoutSeparators(text: string): string {
  const letters = text.replaceAll(/[\s\p{Dash_Punctuation}]/gu, '');
  // Changes only ASCII letters to upper case. Some other letters, such as a dotless i, would become a letter of the alphabet.
  return letters.replaceAll(/[a-z]/g, (letter) => letter.toUpperCase());
}

function isOfAlphabet(text: string): boolean {
  return Array.from(text).every((character) => codeAlphabet.includes(character));
}

/** @param code twelve characters of the alphabet */
function weightedSum(code: string): number {
  let sum = 0;
  for (let position = 0; position < codeLength; position++)
    sum += (codeLength - position) * codeAlphabet.indexOf(code.charAt(position));
  return sum;
}
