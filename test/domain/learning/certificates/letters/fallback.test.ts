/** The font of each letter (CERT-4). */
import { expect } from 'chai';
import { baseDirectionOf } from '../../../../../domain/learning/certificates/letters/bidi.ts';
import { chooseFonts } from '../../../../../domain/learning/certificates/letters/fallback.ts';
import { hasLettersWithoutFont } from '../../../../../domain/learning/certificates/letters/missing.ts';
import { prepareText, shapeLine } from '../../../../../domain/learning/certificates/letters/shaping.ts';
import { eachCase } from '../../../../toolkit/assert/each-case.ts';

const fontsOf = async (text: string) =>
  (await chooseFonts(text, 'bold', 'sc')).map(({ font, start, end }) => [
    text.slice(start, end),
    font.face.getName(6, 'en'),
  ]);

describe('the font of each letter (CERT-4)', () => {
  it('contains the letter and all its marks', async () => {
    expect(await fontsOf('m\u0304')).to.deep.equal([['m\u0304', 'DejaVuSerif-Bold']]);
    expect((await fontsOf('क्‍ष')).map(([, font]) => font)).to.deep.equal(['NotoSerifDevanagari-Regular']);
  });

  it('is also used for the next space, so that programs read one text', async () => {
    const fonts = await fontsOf('محمد عبد');
    expect(new Set(fonts.map(([, font]) => font)).size).to.equal(1);
  });

  it('is the emoji font for an emoji, but not for a sign that is shown as text', async () => {
    expect(await fontsOf('⛵')).to.deep.equal([['⛵', 'NotoEmoji-Regular']]);
    expect(await fontsOf('❤\ufe0f')).to.deep.equal([['❤\ufe0f', 'NotoEmoji-Regular']]);
    expect((await fontsOf('1'))[0]?.[1]).to.equal('DejaVuSerif-Bold');
  });

  it('is an emoji font that draws a family of three people as one picture', async () => {
    const family = '👨\u200d👩\u200d👧';
    const prepared = await prepareText(family, { style: 'bold', language: 'en', direction: 'ltr' });
    expect(shapeLine(prepared, 0, family.length).glyphs.filter(({ text }) => text !== '')).to.have.length(1);
  });

  it('is missing for an unknown letter, which becomes a box (CERT-5)', async () => {
    const prepared = await prepareText('A\u{13000}', { style: 'bold', language: 'en', direction: 'ltr' });
    const { glyphs } = shapeLine(prepared, 0, 3);
    expect(glyphs.map(({ text }) => text)).to.deep.equal(['A', '\u{13000}']);
    expect(glyphs[1]?.glyph).to.equal(glyphs[1]?.font.font.nominalGlyph(0x25a1));
  });

  it('is missing only for scripts without a font, and never for usual names (CERT-5)', async () => {
    await eachCase(['\u{13000}', 'Ada \u{12000}', '\ue000'], (text) =>
      expect(hasLettersWithoutFont(text)).to.equal(true),
    );
    await eachCase(['', 'Ada', '王小明', 'e\u0301', 'क्\u200dष', 'a\tb', '👨\u200d👩', '❤\ufe0f'], (text) =>
      expect(hasLettersWithoutFont(text)).to.equal(false),
    );
  });
});

describe('the direction of a text (CERT-6)', () => {
  it('is the direction of its first letter with a direction, or else of the page', () => {
    expect(baseDirectionOf('12 קורס x', 'ltr')).to.equal('rtl');
    expect(baseDirectionOf('12 x קורס', 'rtl')).to.equal('ltr');
    expect(baseDirectionOf('12 · 3', 'rtl')).to.equal('rtl');
    expect(baseDirectionOf('12 · 3', 'ltr')).to.equal('ltr');
  });

  it('ignores letters inside an isolate, such as a name inside a sentence', () => {
    expect(baseDirectionOf('\u2068Ada\u2069 أتمّ', 'ltr')).to.equal('rtl');
    expect(baseDirectionOf('\u2068قسم\u2069 by Ada', 'rtl')).to.equal('ltr');
  });
});
