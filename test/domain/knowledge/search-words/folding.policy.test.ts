import { expect } from 'chai';
import fc from 'fast-check';
import { foldSearched } from '../../../../domain/knowledge/search-words/folding.policy.ts';

const texts = fc.string({
  unit: fc.oneof(
    fc.constantFrom(
      ...Array.from('aİıßςΣёйÅＡ１ｶﾞガー٠۹०๑أإآىیةهکـּَُא़हन्दँकมๆำํ้เ文字한ᄀ'),
      '\u0301',
      '\u0308',
      '\u200c',
      '\u200d',
      '\u00ad',
      '\ud800',
      ' ',
    ),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  ),
  maxLength: 30,
});

describe('folding of searched texts', () => {
  for (const [what, spellings, folded] of [
    ['full-width letters and digits', ['ＡＢＣ１２', 'abc12', 'ABC12'], 'abc12'],
    ['half-width katakana', ['ｶﾞｲﾄﾞ', 'ガイド', 'カ\u3099イト\u3099'], 'ガイド'],
    ['composed and decomposed accents', ['caf\u00e9', 'cafe\u0301', 'CAFÉ'], 'café'],
    ['alef, hamza and vowels of Arabic', ['أَحْمَد', 'احمد', 'احـــمد', 'إحمد'], 'احمد'],
    ['teh marbuta and heh at the end of a word', ['مدرسة', 'مدرسه', 'مَدْرَسَةٌ'], 'مدرسة'],
    ['Persian and Arabic yeh and kaf', ['کتابی', 'كتابي', 'كتابى'], 'كتابي'],
    ['the joiner of Persian', ['می\u200cروم', 'میروم'], 'ميروم'],
    ['digits of every script', ['٣٤٥', '۳۴۵', '३४५', '๓๔๕', '345'], '345'],
    ['niqqud', ['שָׁלוֹם', 'שלום'], 'שלום'],
    ['nuktas', ['ख़बर', '\u0959बर', 'खबर'], 'खबर'],
    ['nasals of Devanagari', ['हिन्दी', 'हिंदी', 'हिँदी'], 'हिंदी'],
    ['sara am of Thai', ['น้ำ', 'น\u0e49\u0e4d\u0e32', 'น\u0e4d\u0e49\u0e32'], 'น้ำ'],
    ['the sigmas of Greek', ['ΛΌΓΟΣ', 'λόγος'], 'λόγοσ'],
    ['stress and yo of Russian', ['Ёлка', 'ёлка', 'е\u0301лка'], 'елка'],
    ['the dotted capital of Turkish', ['İstanbul', 'istanbul'], 'istanbul'],
  ] as const)
    it(`maps all spellings to one spelling: ${what}`, () => {
      for (const spelling of spellings) expect(foldSearched(spelling), spelling).to.equal(folded);
    });

  it('keeps the vowels of Indic scripts and the dotless i', () => {
    for (const [one, other] of [
      ['काम', 'कम'],
      ['ısı', 'isi'],
      ['が', 'か'],
      ['มา', 'ม้า'],
    ] as const)
      expect(foldSearched(one)).not.to.equal(foldSearched(other));
  });

  it('does not change a text that is already folded', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const folded = foldSearched(text);
        expect(foldSearched(folded)).to.equal(folded);
      }),
      { numRuns: 3_000 },
    );
  });

  it('maps canonically equal texts to one spelling', () => {
    fc.assert(
      fc.property(texts, (text) => {
        expect(foldSearched(text.normalize('NFD'))).to.equal(foldSearched(text.normalize('NFC')));
      }),
      { numRuns: 3_000 },
    );
  });
});
