import { expect } from 'chai';
import fc from 'fast-check';
import {
  charactersOf,
  createAnswerText,
  createTextCleaner,
} from '../../../../domain/agents/answers/delta-text.policy.ts';

const cleaned = (chunks: readonly string[]) => {
  const cleaner = createTextCleaner();
  return [...chunks.map((chunk) => cleaner.push(chunk)), cleaner.end()];
};

describe('the cleaner of an answer’s text', () => {
  it('holds back the first half of a split character, and returns it with the second chunk', () => {
    expect(cleaned(['a\ud83e', '\udd8ab'])).to.deep.equal(['a', '\u{1F98A}b', '']);
    expect(cleaned(['\ud83e', '', '\udd8a'])).to.deep.equal(['', '', '\u{1F98A}', '']);
  });

  it('replaces half of a surrogate pair if no later chunk contains the other half', () => {
    expect(cleaned(['a\ud83e', 'b'])).to.deep.equal(['a', '\uFFFDb', '']);
    expect(cleaned(['a\udd8a'])).to.deep.equal(['a\uFFFD', '']);
    expect(cleaned(['a\ud83e'])).to.deep.equal(['a', '\uFFFD']);
    expect(cleaned(['\ud83e', '\ud83e'])).to.deep.equal(['', '\uFFFD', '\uFFFD']);
  });

  it('replaces NUL, which Postgres cannot store', () => {
    expect(cleaned(['a\u0000b'])).to.deep.equal(['a\uFFFDb', '']);
  });

  it('holds back the first half of a surrogate pair until the next chunk, but never a second half', () => {
    expect(cleaned(['\ud800', '\udc00'])).to.deep.equal(['', '\u{10000}', '']);
    expect(cleaned(['\udbff', '\udfff'])).to.deep.equal(['', '\u{10FFFF}', '']);
    expect(cleaned(['\ud7ff', '\udc00'])).to.deep.equal(['\ud7ff', '\uFFFD', '']);
  });

  it('removes images and tags, and at the end returns the text that it held back', () => {
    const text = createAnswerText();
    expect([text.push('a\u0000![b](c)!'), text.push('<i'), text.push('`\ud83e'), text.end()]).to.deep.equal([
      'a\uFFFD! [b](c)',
      '!&lt;i',
      '',
      '`\uFFFD',
    ]);
  });

  it('returns one valid text, however the answer is divided into chunks', () => {
    const unit = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 3 }),
      fc.constantFrom('\ud83e', '\udd8a', '\u0000', 'é'),
    );
    fc.assert(
      fc.property(fc.array(unit), fc.array(fc.nat({ max: 6 })), (units, cuts) => {
        const text = units.join('');
        const chunks: string[] = [];
        let at = 0;
        for (const length of cuts) {
          chunks.push(text.slice(at, at + length));
          at += length;
        }
        chunks.push(text.slice(at));
        const written = cleaned(chunks);
        expect(written.join('')).to.equal(text.toWellFormed().replaceAll('\u0000', '\uFFFD'));
        for (const part of written) expect(part.isWellFormed()).to.equal(true);
        const characters = written.reduce((sum, part) => sum + charactersOf(part), 0);
        expect(characters).to.equal(Array.from(text).length);
      }),
    );
  });
});
