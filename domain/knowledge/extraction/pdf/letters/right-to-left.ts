/** Puts the letters of right-to-left lines into reading order. Such lines may contain left-to-right numbers and words. */
import { isRightToLeft } from './pdf-letters.ts';

const strongLeftToRight = /[\p{L}\p{N}]/u;

export function isMostlyRightToLeft(text: string): boolean {
  let balance = 0;
  for (const letter of text) if (isRightToLeft(letter)) balance += 1;
    else if (/\p{L}/u.test(letter)) balance -= 1; // prettier-ignore
  return balance > 0;
}

const mirrored = new Map(Array.from('()[]{}<>«»', (sign, at, all = '()[]{}<>«»') => [sign, all[at % 2 === 0 ? at + 1 : at - 1] ?? sign])); // prettier-ignore

/** Changes visual order (left to right) to reading order. Numbers and words of other scripts keep their order. */
export function logical<T extends { text: string }>(letters: readonly T[]): T[] {
  const base = isMostlyRightToLeft(letters.map(({ text }) => text).join(''));
  const directions = resolved(letters, base);
  const runs: { isRight: boolean; letters: T[] }[] = [];
  for (const [at, letter] of letters.entries()) {
    const isRight = directions[at] ?? base;
    const run = runs.at(-1);
    if (run?.isRight === isRight) run.letters.push(letter);
    else runs.push({ isRight, letters: [letter] });
  }
  const read = runs.map(({ isRight, letters: run }) =>
    isRight ? run.toReversed().map((letter) => ({ ...letter, text: mirrored.get(letter.text) ?? letter.text })) : run,
  );
  return (base ? read.toReversed() : read).flat();
}

/**
 * Returns for each letter whether it is read from right to left. If both neighbours of a neutral character have the same direction, the
 * character has this direction, too. Otherwise it has the direction of the line.
 */
function resolved(letters: readonly { text: string }[], base: boolean): boolean[] {
  const own = letters.map(({ text }) =>
    isRightToLeft(text) ? true : strongLeftToRight.test(text) ? false : undefined,
  );
  // A sign inside a number is part of the number, as in 1,000.50 or 12:30 or -5%.
  for (const [at, direction] of own.entries()) {
    const isInside = direction === undefined && own[at - 1] === false && own[at + 1] === false;
    if (isInside && letters[at]?.text !== ' ') own[at] = false;
  }
  const result: boolean[] = [];
  let before = base;
  for (let at = 0; at < own.length;) {
    const direction = own[at];
    if (direction !== undefined) {
      result.push((before = direction));
      at += 1;
      continue;
    }
    let end = at;
    while (end < own.length && own[end] === undefined) end += 1;
    const after = own[end] ?? base;
    // In a right-to-left line, numbers that are separated by spaces follow each other from right to left, like words.
    const areNumbers = /\p{N}/u.test(letters[at - 1]?.text ?? '') && /\p{N}/u.test(letters[end]?.text ?? '');
    const direct = before === after && !(base && areNumbers) ? after : base;
    for (; at < end; at++) result.push(direct);
  }
  return result;
}
