import { expect } from 'chai';
import fc from 'fast-check';
import { cleanLine, cleanText, hasWords, lengthOf } from '../../../../domain/agents/indexing/text.policy.ts';
import { isStorableText } from '../../../../domain/core/text.policy.ts';

describe('text of passages', () => {
  const anyText = fc.string({ unit: 'binary', maxLength: 60 }).map((text) => `${text}\uD83D\u0000${text}\uDE00`);

  it('whatever it is made of, Postgres takes it, and cleaning it again changes nothing', () => {
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
    { what: 'a NUL and other controls go', text: 'a\u0000b\u0007c\u009Fd', clean: 'abcd' },
    { what: 'half of a surrogate pair becomes the replacement character', text: 'a\uD83Db', clean: 'a\uFFFDb' },
    { what: 'letters and their accents become one', text: 'Sa\u0303o', clean: 'São' },
    { what: 'soft hyphens and zero-width spaces go', text: 'sail\u00ADing\u200B boat\uFEFF', clean: 'sailing boat' },
    { what: 'marks of direction go', text: 'a\u202Eb\u2066c', clean: 'abc' },
    {
      what: 'a joiner between pictures stays, one between letters goes',
      text: '👩\u200D🚀 a\u200Db',
      clean: '👩\u200D🚀 ab',
    },
    { what: 'hard spaces are spaces', text: '10\u00A0000\u202Fkm', clean: '10 000 km' },
    { what: 'ends of lines are line feeds', text: 'a\r\nb\rc\u2028d', clean: 'a\nb\nc\nd' },
  ]) {
    it(what, () => expect(cleanText(text)).to.equal(clean));
  }

  it('a length is of characters, not of their halves', () => {
    expect(lengthOf('a👩‍🚀é')).to.equal(Array.from('a👩‍🚀é').length);
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(lengthOf(text)).to.equal(Array.from(text).length);
      }),
    );
  });

  it('words are letters or digits', () => {
    expect(['ç', '7', 'x'].every(hasWords)).to.equal(true);
    expect(['', ' ', '•—…', '|'].some(hasWords)).to.equal(false);
  });
});
