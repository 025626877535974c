import { expect } from 'chai';
import fc from 'fast-check';
import { charactersOf, createTextCleaner } from '../../../../domain/agents/answers/delta-text.policy.ts';

const cleaned = (chunks: readonly string[]) => {
  const cleaner = createTextCleaner();
  return [...chunks.map((chunk) => cleaner.push(chunk)), cleaner.end()];
};

describe('text of deltas', () => {
  it('delivers a character that was cut in two with the chunk that completes it', () => {
    expect(cleaned(['a\ud83e', '\udd8ab'])).to.deep.equal(['a', '\u{1F98A}b', '']);
    expect(cleaned(['\ud83e', '', '\udd8a'])).to.deep.equal(['', '', '\u{1F98A}', '']);
  });

  it('replaces half a character that no chunk completes', () => {
    expect(cleaned(['a\ud83e', 'b'])).to.deep.equal(['a', '\uFFFDb', '']);
    expect(cleaned(['a\udd8a'])).to.deep.equal(['a\uFFFD', '']);
    expect(cleaned(['a\ud83e'])).to.deep.equal(['a', '\uFFFD']);
    expect(cleaned(['\ud83e', '\ud83e'])).to.deep.equal(['', '\uFFFD', '\uFFFD']);
  });

  it('replaces NUL, which Postgres cannot store', () => {
    expect(cleaned(['a\u0000b'])).to.deep.equal(['a\uFFFDb', '']);
  });

  it('is the same well-formed text with as many characters for any chunks', () => {
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
