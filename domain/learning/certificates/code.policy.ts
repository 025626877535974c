/** The codes of certificates: easy to read aloud and to type, and a typing mistake is noticed by the code itself. */

/** No 0, 1, I, L, O: nothing that looks like something else. 31 characters, a prime number. */
export const codeAlphabet = '23456789ABCDEFGHJKMNPQRSTUVWXYZ';

/** Characters of a code, the last of which is the check character. */
export const codeLength = 12;

/**
 * Completes a code by its check character. Each place weighs differently, from 1 at the end to 12 at the beginning, and the
 * weighted sum of a code is divisible by 31. As 31 is prime, no single wrong character and no swap of two leaves it so.
 * @param drawn eleven characters of the alphabet
 */
export function completeCode(drawn: string): string {
  const rest = weightedSum(`${drawn}${codeAlphabet.charAt(0)}`) % codeAlphabet.length;
  return drawn + codeAlphabet.charAt((codeAlphabet.length - rest) % codeAlphabet.length);
}

/** The printed form: groups of four. */
export function formatCode(code: string): string {
  return code.replaceAll(/.{4}(?=.)/g, '$&-');
}

/**
 * Reads a code as people type it: in any case, as printed, run together, with spaces or dashes anywhere.
 * @returns the unformatted code, or undefined for what can be none
 */
export function readCode(text: string): string | undefined {
  const code = withoutSeparators(text);
  if (!isOfAlphabet(code) || code.length !== codeLength) return undefined;
  return weightedSum(code) % codeAlphabet.length === 0 ? code : undefined;
}

/** Characters that a search must at least have to be looked for inside codes: one printed group. */
const shortestPart = 4;

/** @returns the part of a code that a search may mean, unformatted; undefined for what is no part of one or too short to mean it */
export function readPartOfCode(text: string): string | undefined {
  const part = withoutSeparators(text);
  return isOfAlphabet(part) && part.length >= shortestPart && part.length <= codeLength ? part : undefined;
}

/** Whatever sets groups apart: white space, hyphens and the dashes that programs make of them. */
function withoutSeparators(text: string): string {
  const joined = text.replaceAll(/[\s\p{Dash_Punctuation}]/gu, '');
  // Only ASCII letters are raised: some others, such as a dotless i, would become one of the alphabet.
  return joined.replaceAll(/[a-z]/g, (letter) => letter.toUpperCase());
}

function isOfAlphabet(text: string): boolean {
  return Array.from(text).every((character) => codeAlphabet.includes(character));
}

/** @param code twelve characters of the alphabet */
function weightedSum(code: string): number {
  let sum = 0;
  for (let place = 0; place < codeLength; place++)
    sum += (codeLength - place) * codeAlphabet.indexOf(code.charAt(place));
  return sum;
}
