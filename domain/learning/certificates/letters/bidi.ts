/** The bidirectional algorithm (UAX #9): the direction of each character, and the order of the parts of a line. */
import bidiJs, { type Bidi } from 'bidi-js';
import type { Direction } from '../../../language/bidi.policy.ts';

/** The type declarations of bidi-js say that the module contains the function. In fact, the module is the function. */
const bidi = (bidiJs as unknown as () => Bidi)();

/** @returns the embedding level of each UTF-16 unit. Text with an odd level runs from right to left */
export function levelsOf(text: string, direction: Direction): Uint8Array {
  return bidi.getEmbeddingLevels(text, direction).levels;
}

/** Characters with a strong direction, by the classes of UAX #9. */
const strong: Partial<Record<string, Direction>> = { L: 'ltr', R: 'rtl', AL: 'rtl' };

/** Characters that open an isolate. The letters of an isolate do not decide the direction of the text around it. */
const opening = new Set(['LRI', 'RLI', 'FSI']);

/**
 * Rules P2 and P3: the first letter with a strong direction outside isolates decides.
 * @param otherwise the direction that is returned if the text has no such letter
 */
export function baseDirectionOf(text: string, otherwise: Direction): Direction {
  let depth = 0;
  for (const character of text) {
    const type = bidi.getBidiCharTypeName(character);
    if (opening.has(type)) depth++;
    else if (type === 'PDI') depth = Math.max(0, depth - 1);
    const direction = strong[type];
    if (depth === 0 && direction) return direction;
  }
  return otherwise;
}

/**
 * Applies rule L2 of the Unicode bidirectional algorithm. It handles the levels from the highest down to the lowest odd level. For each
 * level, it reverses every sequence of parts that have this level or a higher level.
 * @returns the parts in visual order, from left to right
 */
export function inVisualOrder<Part extends { level: number }>(parts: readonly Part[]): Part[] {
  const ordered = [...parts];
  const levels = parts.map(({ level }) => level);
  const lowestOdd = Math.min(...levels.filter((level) => level % 2 === 1));
  for (let level = Math.max(...levels); level >= lowestOdd; level--) {
    for (let start = 0; start < ordered.length; start++) {
      let end = start;
      while ((ordered[end]?.level ?? -1) >= level) end++;
      if (end - start > 1) ordered.splice(start, end - start, ...ordered.slice(start, end).toReversed());
      start = Math.max(start, end);
    }
  }
  return ordered;
}
