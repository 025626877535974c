/** Detects letters that certificates cannot print, by a stored list of the fonts' code points, without loading a font (CERT-5). */
import { printedCodePoints } from './printed-code-points.ts';

/** The first and last code point of each range, in ascending order. */
const bounds = readBounds(printedCodePoints);

/** @param written the distance of each bound from the bound before it, in base 36 */
function readBounds(written: string): Uint32Array {
  let last = 0;
  return Uint32Array.from(written.split(' '), (distance) => (last += Number.parseInt(distance, 36)));
}

/** Matches characters that need no glyph. */
const invisible = /[\s\p{Default_Ignorable_Code_Point}\p{Cc}]/u;

/** @returns whether a certificate shows a box for a letter of this text */
export function hasLettersWithoutFont(text: string): boolean {
  return Array.from(text.normalize('NFC')).some(
    (character) => !invisible.test(character) && !isPrinted(character.codePointAt(0) ?? 0),
  );
}

function isPrinted(codePoint: number): boolean {
  let [low, high] = [0, bounds.length / 2];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((bounds[2 * middle + 1] ?? 0) < codePoint) low = middle + 1;
    else high = middle;
  }
  return low < bounds.length / 2 && (bounds[2 * low] ?? 0) <= codePoint;
}
