/** Tests that no letter is lost, and that each drawn box has a warning (CERT-4, CERT-5). */
import { expect } from 'chai';
import fc from 'fast-check';
import { baseDirectionOf } from '../../../../../domain/learning/certificates/letters/bidi.ts';
import { styleNames } from '../../../../../domain/learning/certificates/letters/font-files.ts';
import { breakIntoLines } from '../../../../../domain/learning/certificates/letters/lines.ts';
import { hasLettersWithoutFont } from '../../../../../domain/learning/certificates/letters/missing.ts';
import {
  prepareText,
  shapeLine,
  type PlacedGlyph,
} from '../../../../../domain/learning/certificates/letters/shaping.ts';

/** Some blocks contain letters of names. Very few fonts have the letters of the other blocks. */
const blocks = [
  [0x20, 0x7e],
  [0xa0, 0x24f],
  [0x300, 0x36f],
  [0x370, 0x3ff],
  [0x400, 0x52f],
  [0x590, 0x5f4],
  [0x600, 0x6ff],
  [0x900, 0x97f],
  [0x980, 0x9fe],
  [0xb82, 0xbfa],
  [0xe01, 0xe5b],
  [0x1100, 0x11ff],
  [0x1e00, 0x1fff],
  [0x200c, 0x200d],
  [0x3041, 0x30ff],
  [0x4e00, 0x9fff],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe0f, 0xfe0f],
  [0x1f300, 0x1faff],
  [0x10400, 0x104ff],
  [0x13000, 0x1342f],
  [0x20000, 0x2a6df],
  [0xe000, 0xe0ff],
] as const;

const character = fc
  .constantFrom(...blocks)
  .chain(([first, last]) => fc.integer({ min: first, max: last }))
  .map((codePoint) => String.fromCodePoint(codePoint));
const text = fc
  .array(character, { minLength: 1, maxLength: 24 })
  .map((characters) => characters.join('').normalize('NFC').replaceAll(/\s+/g, ' ').trim())
  .filter((written) => written !== '');
const language = fc.constantFrom('en', 'ar', 'ja', 'zh-Hant', 'de');

const prepare = (written: string, style: (typeof styleNames)[number], of: string) =>
  prepareText(written, { style, language: of, direction: baseDirectionOf(written, 'ltr') });

/** In form NFD and in numeric order. */
const lettersOf = (written: string) =>
  Array.from(written.normalize('NFD').replaceAll(/\p{Default_Ignorable_Code_Point}/gu, ''))
    .toSorted()
    .join(' ');
const textOf = (glyphs: readonly PlacedGlyph[]) => glyphs.map((glyph) => glyph.text).join('');

describe('every text on a certificate (CERT-4)', function () {
  this.timeout(120_000);

  it('contains each letter, on one line', () =>
    fc.assert(
      fc.asyncProperty(text, fc.constantFrom(...styleNames), language, async (written, style, of) => {
        const prepared = await prepare(written, style, of);
        expect(lettersOf(textOf(shapeLine(prepared, 0, written.length).glyphs))).to.equal(lettersOf(written));
      }),
      { numRuns: 400 },
    ));

  it('contains each letter on lines that fit into their box', () =>
    fc.assert(
      fc.asyncProperty(text, language, fc.integer({ min: 3, max: 12 }), async (written, of, width) => {
        const prepared = await prepare(written, 'bold', of);
        const lines = breakIntoLines(prepared, width).map(({ from, to }) => ({
          from,
          to,
          ...shapeLine(prepared, from, to),
        }));
        const solid = (whole: string) => lettersOf(whole.replaceAll(' ', ''));
        expect(solid(lines.map(({ glyphs }) => textOf(glyphs)).join(''))).to.equal(solid(written));
        for (const line of lines)
          if (Array.from(written.slice(line.from, line.to)).length > 1) expect(line.width).to.be.below(width + 2.5);
      }),
      { numRuns: 150 },
    ));

  it('has a box only if the certificate has a warning (CERT-5)', () =>
    fc.assert(
      fc.asyncProperty(text, fc.constantFrom(...styleNames), language, async (written, style, of) => {
        const prepared = await prepare(written, style, of);
        const { glyphs } = shapeLine(prepared, 0, written.length);
        expect(glyphs.filter(({ glyph }) => glyph === 0)).to.deep.equal([]);
        expect(prepared.runs.some(({ isMissing }) => isMissing)).to.equal(hasLettersWithoutFont(written));
      }),
      { numRuns: 400 },
    ));
});
