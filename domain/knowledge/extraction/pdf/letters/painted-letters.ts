/** Drops letters that must not be read: duplicates that only make text look bold, and ruby readings above other letters. */
import type { Glyph } from '../pdf-drawing.ts';
import { isHan, isKana } from './pdf-letters.ts';

/** A letter whose line runs from left to right. */
export type Letter = Pick<Glyph, 'text' | 'x' | 'y' | 'width' | 'size'>;

/** Keeps only one of two equal letters that are painted with a small offset, so that the text looks bold or has a shadow. */
export function* withoutDoubles(letters: Iterable<Letter>): Generator<Letter> {
  const nearest = 0.12;
  const painted = new Map<string, Letter>();
  for (const letter of letters) {
    if (letter.text.trim() === '') {
      yield letter;
      continue;
    }
    const step = Math.max(letter.size * nearest, 0.01);
    const [column, row] = [Math.round(letter.x / step), Math.round(letter.y / step)];
    const isDouble = nine.some(([right, up]) => {
      const other = painted.get(`${letter.text} ${column + right} ${row + up}`);
      return other?.size === letter.size && Math.abs(other.x - letter.x) < step && Math.abs(other.y - letter.y) < step;
    });
    if (isDouble) continue;
    painted.set(`${letter.text} ${column} ${row}`, letter);
    yield letter;
  }
}

/** Drops small kana above other letters. Such kana show the reading of these letters (ruby). */
export function withoutReadings(letters: Iterable<Letter>): Letter[] {
  const all = [...letters];
  const step = 4;
  const han = new Map<string, Letter[]>();
  for (const letter of all) {
    if (!isHan(letter.text)) continue;
    const key = `${Math.floor(letter.x / step)} ${Math.floor(letter.y / step)}`;
    const near = han.get(key);
    if (near) near.push(letter);
    else han.set(key, [letter]);
  }
  if (han.size === 0) return all;
  const isOver = (kana: Letter) => {
    const [column, row] = [Math.floor(kana.x / step), Math.floor(kana.y / step)];
    const reach = Math.min(12, Math.ceil((kana.size * 3) / step));
    for (let up = 0; up <= reach; up++)
      for (let aside = -reach; aside <= reach; aside++)
        for (const letter of han.get(`${column + aside} ${row - up}`) ?? []) {
          const rise = (kana.y - letter.y) / letter.size;
          const isBeside = kana.x + kana.width > letter.x - letter.size * 0.5 && kana.x < letter.x + letter.size * 1.5;
          if (isBeside && kana.size <= letter.size * 0.6 && rise > 0.6 && rise < 1.4) return true;
        }
    return false;
  };
  const isSmallest = Math.max(...[...han.values()].slice(0, 1_000).map(([letter]) => letter?.size ?? 0)) * 0.6;
  return all.filter((letter) => !(letter.size <= isSmallest && isKana(letter.text) && isOver(letter)));
}

const nine = [-1, 0, 1].flatMap((right) => [-1, 0, 1].map((up) => [right, up] as const));
