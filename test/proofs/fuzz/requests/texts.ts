/** Generates texts: ordinary texts, texts at the bounds of their schema, and texts that often cause faults. */
import fc from 'fast-check';
import type { Draw } from './draw.ts';

const words = 'rope knot bend hitch mast sail keel anchor harbour tide chart compass buoy deck line'.split(' ');

const troublesome: readonly string[] = [
  ' leading and trailing ',
  "Robert'); DROP TABLE students;--",
  '100%_\\',
  '%%%',
  '\\',
  '"quoted" \'twice\'',
  '<script>alert(1)</script>',
  '{"json":true}',
  '${name} $1 $$ {{name}}',
  'line\nbreak\r\nand\ttab',
  'null',
  'undefined',
  '__proto__',
  'constructor',
  '-1',
  '0',
  '1e309',
  '\u202Eright to left',
  'zero\u200Bwidth',
  'e\u0301\u0328 combining',
  '👩‍👩‍👧‍👦 family',
  'İıſß case',
  '\uFEFFmark',
  '\uFFFF',
  '\u0001\u001F\u007F controls',
  '日本語',
  'ﷺ'.repeat(3),
  '../../etc/passwd',
  'a,b;c\td',
  '=1+1',
  '@everyone',
];

export interface Bounds {
  /** The smallest length in characters (code points), as in JSON Schema. */
  readonly least: number;
  readonly most: number;
}

const usualMost = 40;

export function textOf(draw: Draw, { least, most }: Bounds): string {
  const some = { least, most: Math.min(most, Math.max(usualMost, least)) };
  const make = draw.weighted<() => string>([
    [55, () => Array.from({ length: draw.between(1, 4) }, () => draw.pick(words)).join(' ')],
    [15, () => draw.sample(fc.string({ unit: 'grapheme', minLength: some.least, maxLength: some.most }))],
    [5, () => draw.sample(fc.string({ unit: 'binary', minLength: some.least, maxLength: some.most }))],
    [15, () => draw.pick(troublesome)],
    [5, () => 'm'.repeat(most <= 500 ? most : 500)],
    [3, () => (most > 500 ? `{{fill:${most}}}` : draw.pick(words))],
    [7, () => 'l'.repeat(least)],
  ]);
  return fitToBounds(storable(make()), { least, most });
}

export function patternedText(draw: Draw, pattern: string, bounds: Bounds): string {
  if (pattern === '\\S') {
    const text = textOf(draw, bounds);
    return /\S/.test(text) ? text : fitToBounds(`x${text}`, bounds);
  }
  const matching = new RegExp(pattern);
  const matchingText = draw.sample(fc.stringMatching(matching));
  const short = Array.from(matchingText).slice(0, bounds.most).join('');
  return draw.chance(0.4) ? atTheEdge(draw, short, matching) : short;
}

/** Replaces digits by 0 or 9 if the pattern allows it, so that the first and last years, months and hours occur. */
function atTheEdge(draw: Draw, text: string, pattern: RegExp): string {
  const digit = draw.pick(['0', '9']);
  return [...text.matchAll(/\d/g)].reduce((edged, { index }) => {
    const further = `${edged.slice(0, index)}${digit}${edged.slice(index + 1)}`;
    return pattern.test(further) ? further : edged;
  }, text);
}

function fitToBounds(text: string, { least, most }: Bounds): string {
  if (text.startsWith('{{fill:')) return text;
  const characters = Array.from(text);
  return characters
    .slice(0, most)
    .join('')
    .concat('x'.repeat(Math.max(0, least - characters.length)));
}

function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '0');
}
