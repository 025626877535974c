import { expect } from 'chai';
import fc from 'fast-check';
import { foldSearched } from '../../../../domain/knowledge/search-words/folding.policy.ts';
import {
  isPlain,
  longestWord,
  searchWords,
  wordsOf,
} from '../../../../domain/knowledge/search-words/search-words.policy.ts';
import { expectLinear, manyTimes } from '../../../toolkit/assert/scaling.ts';
import { testDatabase } from '../../../toolkit/stack/database.ts';

const words = (text: string) => [...wordsOf(text)];
const samples =
  'aZé9٣ß文字漢帆船かなカナーｶﾞไทยน้ำกล้องລາວខ្មែរမြန်မာहिन्दीशक्तिதமிழ்తెలుగుಕನ್ನಡമലയാളംසිංහලبحركةעבריתбукваλόγος한국어ᄒ';

describe('words of a searched text', () => {
  for (const [what, text, expected] of [
    ['words with blanks between them', 'The Bowline, e-mail: 42!', ['the', 'bowline', 'e', 'mail', '42']],
    [
      'words, characters and pairs of Chinese',
      '放松前帆',
      ['放松', '前', '帆', '放', '松', '放松', '前', '松前', '帆', '前帆'],
    ],
    ['words and pairs of letters of Thai', 'กล้องดี', ['กล้อง', 'ดี', 'กล้', 'ล้อ', 'อง', 'งดี']],
    ['kana of one kind, without the long vowel at the end', 'タイヤー', ['たいや', 'たい', 'いや']],
    ['pairs of syllables of Korean', '요트를', ['요트', '트를']],
    ['whole words of Indic scripts', 'शक्ति தமிழ்', ['शक्ति', 'தமிழ்']],
    ['Latin words and numbers beside Han', 'iPhone手机3月', ['iphone', '手机', '手', '机', '手机', '3', '月', '月']],
  ] as const)
    it(`are ${what}`, () => expect(words(text)).to.have.members([...expected]));

  it('include the words of each part of the text', () => {
    const passage = new Set(words('帆船转向时要先放松前帆的缭绳'));
    for (const pair of ['转向', '前帆', '松', '放松前帆'])
      expect([...passage]).to.include.members(words(pair).slice(-1));
  });

  it('contain every letter, number and mark of the text, but no blanks and operators', () => {
    const text = fc.string({
      unit: fc.oneof(
        fc.constantFrom(...Array.from(samples)),
        fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }),
      ),
      maxLength: 60,
    });
    fc.assert(
      fc.property(text, (whole) => {
        const found = words(whole);
        for (const word of found) {
          expect(word).to.match(/^[\p{L}\p{N}\p{M}]+$/u);
          expect(word.length).to.be.at.most(longestWord);
        }
        const letters = new Set(found.join(''));
        // Both kinds of kana become equal, and a long vowel at the end of a word is removed.
        for (const letter of foldSearched(whole).match(/[\p{L}\p{N}]/gu) ?? []) {
          const kana = /[\u30A1-\u30F6\u30FD\u30FE]/u.test(letter)
            ? String.fromCodePoint((letter.codePointAt(0) ?? 0) - 0x60)
            : letter;
          if (letter !== 'ー') expect(letters.has(kana), `${letter} of ${whole}`).to.equal(true);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('equal the words that the parser of Postgres finds in a plain text', async () => {
    const source = await testDatabase();
    const plain = Array.from({ length: 0x2100 }, (_, code) => String.fromCharCode(code)).filter(
      (character) => character !== '\0' && isPlain(character),
    );
    expect(plain).to.have.length.greaterThan(800);
    const around = plain.map((character) => `Ab${character}9 ${character}`);
    const rows = await source.query<{ words: string }[]>(
      `SELECT agent_text(text) AS words FROM unnest($1::text[]) WITH ORDINALITY AS one (text, place) ORDER BY place`,
      [around],
    );
    const differing = plain.filter((_, place) => rows[place]?.words !== searchWords(around[place] ?? ''));
    expect(differing).to.deep.equal([]);
  });

  it('are computed in a time that grows linearly with the text', () => {
    for (const piece of [
      '\u4e2d\u6587\u8f6e',
      'กขคงจ',
      'か',
      'ー',
      'ก\u0e48',
      'ក្',
      'က',
      'ກ',
      'a',
      'a\u0301',
      '\u0301',
      '가',
      '\u0640',
      '०',
    ])
      expectLinear(piece, manyTimes(piece), searchWords, 4_000);
  }).timeout(30_000);

  it('are never longer than the maximum length, for any text', () => {
    for (const piece of ['漢', 'ก\u0e48', 'a', 'ー', 'ក្', `ก${'\u0e48'.repeat(70)}`, `a${'\u0334'.repeat(70)}`, '가'])
      for (const word of wordsOf(piece.repeat(2_000)))
        if (word.length > longestWord) expect.fail(`${word.length} characters of ${piece.slice(0, 2)}`);
  });
});
