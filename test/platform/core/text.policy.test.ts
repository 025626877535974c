import { expect } from 'chai';
import fc from 'fast-check';
import {
  emailPattern,
  foldEmail,
  hasVisible,
  holdsUnseenCharacters,
  holdsWebAddress,
  likePattern,
  tidyName,
} from '../../../platform/core/text/text.policy.ts';

describe('foldEmail', () => {
  it('ignores case, outer blanks, and how accents are encoded', () => {
    expect(foldEmail(' Ada@EXAMPLE.com ')).to.equal('ada@example.com');
    expect(foldEmail('Zoe\u0308@example.com')).to.equal(foldEmail('ZO\u00cb@example.com'));
  });

  it('returns the same result when it is applied twice', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (email) => {
        expect(foldEmail(foldEmail(email))).to.equal(foldEmail(email));
      }),
      { numRuns: 5_000 },
    );
  });

  it('keeps dots and +tags, because they can distinguish addresses', () => {
    expect(foldEmail('a.da+x@example.com')).to.equal('a.da+x@example.com');
  });
});

describe('tidyName', () => {
  it('composes accents, and replaces each run of white space by one blank', () => {
    expect(tidyName(' \t Ada\u00a0\u2003 de\nLove-lace ')).to.equal('Ada de Love-lace');
    expect(tidyName('Zoe\u0308')).to.equal('Zo\u00eb');
  });
});

describe('holdsWebAddress', () => {
  const addresses = [
    'https://evil.example',
    'HTTP://x',
    'ftp://a',
    'see www.evil',
    'Win at evil.com',
    'evil.com/x',
    'a prêmio.com.br',
    'bit.ly',
    'go EVIL.XYZ!',
    '(shop.club)',
    'x.online?',
    'evil.zip',
    'ＥＶＩＬ．ＣＯＭ',
    'evil。com',
    'evil｡com',
    'evil﹒com',
    'evil․com',
    'evil︒com',
    'evil.\u200bcom',
    'evil.\u00adcom',
    'evil.\u3164com',
    'evi\u2066l.com',
    'login.support\u202e',
    'evil.xn--p1ai',
    'пример.рф',
    'उदाहरण.भारत',
    'مثال.شبكة',
    '例え.テスト',
    'i❤.ws',
    '163.com',
    'my-club.zip',
    'a_b.mov',
    'ｗｗｗ．evil',
    'http：／／evil',
    'call 192.0.2.10 now',
    'evil⒈com',
    'Dr.Smith',
    'x.co',
    'ana@evil.zip',
  ];
  const names = [
    'Ada Example',
    'J.R.R. Tolkien',
    'Dr. Smith',
    'Dr. Li',
    'Ann-Marie O’Neil',
    'St. Mary’s Academy',
    'Club No.1',
    'Yoga & More, Lisbon',
    'A.B. Company',
    'Version 2.0',
    'Ltd.',
    'end.',
    'Maria do Carmo',
    'www',
    'http',
    'Dr. Ana',
    'J. R. R. Tolkien',
    'St. John',
    'Müller-Lüdenscheidt',
    'O’Neill',
    'Martin Luther King Jr.',
    'Silva Sr.',
    'N.º 5',
    '3.ª turma',
    'Ph.D. Ana',
    'Segelclub Kiel e.V.',
    'Banco S.A.',
    'モーニング娘。',
    'आर.के. नारायण',
    'And so on …',
    '10.000 passos',
  ];
  for (const text of addresses) it(`finds an address in: ${text}`, () => expect(holdsWebAddress(text)).to.equal(true));
  for (const text of names) it(`finds no address in: ${text}`, () => expect(holdsWebAddress(text)).to.equal(false));
});

describe('holdsUnseenCharacters', () => {
  for (const name of [
    'Ana\u200b',
    'login.support\u202e',
    '\u2066Ana\u2069',
    'A\u00adna',
    'Ana\u0000',
    'Ana\u0007',
    'Ana\u0085',
    'Ana\u3164',
    'Ana\u2800',
    'Ana\u200d',
    'A\u200dna',
    'A\u200cna',
    'Ana \u200c',
    '\u200dनमस्ते',
    'Ana\ufeff',
    'Ana\u{e0041}',
    '🏴\u{e0067}',
  ])
    it(`finds a forbidden invisible character in ${JSON.stringify(name)}`, () =>
      expect(holdsUnseenCharacters(name)).to.equal(true));

  for (const name of [
    'Ana',
    'José',
    'علی\u200cرضا',
    'می\u200cخواهم',
    'क्\u200dष',
    'ශ්\u200dරී ලංකා',
    'র\u200d্য',
    'Club 👩‍👩‍👧‍👦',
    '🧑🏽‍🚀 school',
    '🏳️‍🌈',
    '❤️‍🔥',
    '🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}',
    '葛\u{e0100}城',
  ])
    it(`finds no forbidden invisible character in ${JSON.stringify(name)}`, () =>
      expect(holdsUnseenCharacters(name)).to.equal(false));
});

describe('hasVisible', () => {
  for (const text of [
    '',
    ' ',
    '\u200b',
    '\u3164',
    '\u00ad',
    '\u202e\u2066',
    '\u2800',
    '\u115f\u1160',
    '\uffa0',
    '\ufeff',
    '\u034f',
    '\u0301',
    '\u180e',
    '\ufe0f',
    '\u0007',
    '\u{e0020}',
    '\u17b4',
  ])
    it(`finds no visible character in ${JSON.stringify(text)}`, () => expect(hasVisible(text)).to.equal(false));
  for (const text of ['a', '文', '🎓', '1', '-', 'क्', '\u200bx', 'ﷺ', '…'])
    it(`finds a visible character in ${JSON.stringify(text)}`, () => expect(hasVisible(text)).to.equal(true));
});

describe('patterns of searches', () => {
  it('fold case and accents as names and addresses do', () => {
    expect(likePattern('50%_')).to.equal('%50\\%\\_%');
    expect(emailPattern(' ZOE@Example.com ')).to.equal('%zoe@example.com%');
    expect(emailPattern('ｚｏｅ＠Example')).to.equal('%zoe@example%');
  });
});
