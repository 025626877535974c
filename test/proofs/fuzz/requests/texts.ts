/** Texts for requests: ordinary ones, those at the bounds of their schema, and those that programs stumble over. */
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
  /** In characters (code points), as JSON Schema counts them. */
  readonly least: number;
  readonly most: number;
}

const usualMost = 40;

/** A text of so many characters, not blank where it may be longer than nothing. */
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
  return fitted(storable(make()), { least, most });
}

/** Matches the pattern; ordinary where nearly anything does. */
export function patternedText(draw: Draw, pattern: string, bounds: Bounds): string {
  if (pattern === '\\S') {
    const text = textOf(draw, bounds);
    return /\S/.test(text) ? text : fitted(`x${text}`, bounds);
  }
  const matching = new RegExp(pattern);
  const found = draw.sample(fc.stringMatching(matching));
  const short = Array.from(found).slice(0, bounds.most).join('');
  return draw.chance(0.4) ? atTheEdge(draw, short, matching) : short;
}

/** Digits become 0 or 9 wherever the pattern lets them: the first and last year, month, hour. */
function atTheEdge(draw: Draw, text: string, pattern: RegExp): string {
  const digit = draw.pick(['0', '9']);
  return [...text.matchAll(/\d/g)].reduce((edged, { index }) => {
    const further = `${edged.slice(0, index)}${digit}${edged.slice(index + 1)}`;
    return pattern.test(further) ? further : edged;
  }, text);
}

function fitted(text: string, { least, most }: Bounds): string {
  if (text.startsWith('{{fill:')) return text;
  const characters = Array.from(text);
  return characters
    .slice(0, most)
    .join('')
    .concat('x'.repeat(Math.max(0, least - characters.length)));
}

/** Without what no text of a request may hold: a NUL byte, half of a surrogate pair. */
function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '0');
}
