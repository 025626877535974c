import { expect } from 'chai';
import fc from 'fast-check';
import { cleanLine, cleanText, hasWords, lengthOf } from '../../../../domain/knowledge/extraction/text.policy.ts';
import { isStorableText } from '../../../../platform/core/text/storable-text.ts';

describe('text of passages', () => {
  const anyText = fc.string({ unit: 'binary', maxLength: 60 }).map((text) => `${text}\uD83D\u0000${text}\uDE00`);

  it('can be stored in Postgres after the cleaning', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const clean = cleanText(text);
        expect(isStorableText(clean)).to.equal(true);
        expect(clean).to.equal(clean.normalize('NFC'));
        expect(cleanText(clean)).to.equal(clean);
        expect(cleanLine(text)).not.to.match(/^\s|\s$|\s\s|[^\S ]/);
      }),
      { numRuns: 500 },
    );
  });

  for (const { what, text, clean } of [
    { what: 'loses NUL and other control characters', text: 'a\u0000b\u0007c\u009Fd', clean: 'abcd' },
    { what: 'has the replacement character instead of half a surrogate pair', text: 'a\uD83Db', clean: 'a\uFFFDb' },
    { what: 'has letters combined with their accents', text: 'Sa\u0303o', clean: 'São' },
    { what: 'loses soft hyphens and zero-width spaces', text: 'sail\u00ADing\u200B boat\uFEFF', clean: 'sailing boat' },
    { what: 'loses direction marks', text: 'a\u202Eb\u2066c', clean: 'abc' },
    {
      what: 'keeps a zero-width joiner between emoji, and loses a joiner between letters',
      text: '👩\u200D🚀 a\u200Db',
      clean: '👩\u200D🚀 ab',
    },
    {
      what: 'keeps zero-width joiners in scripts that use them',
      text: 'می\u200Cروم क्\u200Dष शब्\u200D अ\u200Cb a\u200Cb ک\u200C\u200Cک',
      clean: 'می\u200Cروم क्\u200Dष शब्\u200D अb ab ک\u200Cک',
    },
    { what: 'has normal spaces instead of non-breaking spaces', text: '10\u00A0000\u202Fkm', clean: '10 000 km' },
    { what: 'has line feeds instead of all other line ends', text: 'a\r\nb\rc\u2028d', clean: 'a\nb\nc\nd' },
  ]) {
    it(what, () => expect(cleanText(text)).to.equal(clean));
  }

  it('has one space instead of each run of white space on a line', () => {
    expect(cleanLine(' a \t\n\u00A0b  c ')).to.equal('a b c');
  });

  it('is measured in characters, not in UTF-16 units', () => {
    expect(lengthOf('a👩‍🚀é')).to.equal(Array.from('a👩‍🚀é').length);
    expect(['\u{10000}', '\u{103ff}', '\u{10fc00}', '\u{10ffff}', '\ue000'].map(lengthOf)).to.deep.equal([
      1, 1, 1, 1, 1,
    ]);
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(lengthOf(text)).to.equal(Array.from(text).length);
      }),
    );
  });

  it('contains words if it has letters or digits', () => {
    expect(['ç', '7', 'x'].every(hasWords)).to.equal(true);
    expect(['', ' ', '•—…', '|'].some(hasWords)).to.equal(false);
  });
});
