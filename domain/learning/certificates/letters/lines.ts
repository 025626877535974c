/** Breaks text into lines by the rules of UAX #14, and between words of a dictionary in languages without spaces. */
import { createRequire } from 'node:module';
import { shapeLine, type PreparedText } from './shaping.ts';

/** `position` is a possible line break, in UTF-16 units. The package has no types of its own. */
type LineBreakerClass = new (text: string) => { nextBreak(): { position: number } | null };
const LineBreaker = createRequire(import.meta.url)('linebreak') as LineBreakerClass;

/** Offsets count UTF-16 units, without white space at the end of the line. */
export interface Line {
  from: number;
  to: number;
}

/** Matches scripts that have no spaces, so that only a dictionary finds the words. */
const withoutSpaces = /[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const words = new Intl.Segmenter('th', { granularity: 'word' });
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** @returns the possible line breaks in order, ending with the end of the text */
function breaksIn(text: string): number[] {
  const breaks = new Set<number>([text.length]);
  const breaker = new LineBreaker(text);
  for (let found = breaker.nextBreak(); found; found = breaker.nextBreak()) breaks.add(found.position);
  if (withoutSpaces.test(text))
    for (const { index, segment } of words.segment(text))
      if (withoutSpaces.test(segment) && withoutSpaces.test(text.charAt(index - 1))) breaks.add(index);
  return [...breaks].toSorted((one, other) => one - other);
}

/**
 * Fills one line after another. A word longer than a line is broken between two letters.
 * @param width the maximum width of a line, in ems
 */
export function breakIntoLines(prepared: PreparedText, width: number): Line[] {
  const { text } = prepared;
  const breaks = breaksIn(text);
  const letters = [...graphemes.segment(text)].map(({ index, segment }) => index + segment.length);
  const lines: Line[] = [];
  for (let from = 0; from < text.length;) {
    const ends = (at: number) => at > from && fits(prepared, from, at, width);
    const to =
      lastOf(breaks, from, ends) ?? lastOf(letters, from, ends) ?? letters.find((at) => at > from) ?? text.length;
    lines.push({ from, to: from + text.slice(from, to).trimEnd().length });
    from = to;
  }
  return lines;
}

function fits(prepared: PreparedText, from: number, to: number, width: number): boolean {
  const end = from + prepared.text.slice(from, to).trimEnd().length;
  return shapeLine(prepared, from, end).width <= width;
}

/**
 * Finds the position by a binary search. This is possible because a longer line is always wider.
 * @returns the last position at which the line still fits, or undefined
 */
function lastOf(places: readonly number[], from: number, fitting: (at: number) => boolean): number | undefined {
  const after = places.filter((at) => at > from);
  let [low, high] = [0, after.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (fitting(after[middle] ?? from)) low = middle + 1;
    else high = middle;
  }
  return after[low - 1];
}
