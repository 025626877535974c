import { expect } from 'chai';
import fc from 'fast-check';
import { foldEmail, tidyName, holdsWebAddress } from '../../../platform/core/text.policy.ts';

describe('foldEmail', () => {
  it('ignores case, surrounding blanks and the composition of accents', () => {
    expect(foldEmail(' Ada@EXAMPLE.com ')).to.equal('ada@example.com');
    expect(foldEmail('Zoe\u0308@example.com')).to.equal(foldEmail('ZO\u00cb@example.com'));
  });

  it('gives the same result when applied twice', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (email) => {
        expect(foldEmail(foldEmail(email))).to.equal(foldEmail(email));
      }),
      { numRuns: 5_000 },
    );
  });

  it('keeps dots and tags, which make different addresses', () => {
    expect(foldEmail('a.da+x@example.com')).to.equal('a.da+x@example.com');
  });
});

describe('tidyName', () => {
  it('keeps letters and case, composes accents, and makes white space single blanks', () => {
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
  ];
  const names = [
    'Ada Example',
    'J.R.R. Tolkien',
    'Dr.Smith',
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
  ];
  for (const text of addresses) it(`finds one in: ${text}`, () => expect(holdsWebAddress(text)).to.equal(true));
  for (const text of names) it(`finds none in: ${text}`, () => expect(holdsWebAddress(text)).to.equal(false));
});
