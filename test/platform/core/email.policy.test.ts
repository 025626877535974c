import { expect } from 'chai';
import { isEmail } from '../../../platform/core/text/email.policy.ts';
import { escapeHtml, likePattern } from '../../../platform/core/text/text.policy.ts';

describe('an e-mail address', () => {
  for (const address of [
    'a@b.cd',
    'ada.l@mail.example.org',
    'ada.love.lace@b.cd',
    "o'b+x@a-b.example",
    'A1@B2.C3',
    'ab@c-d-e.f-g',
    'a@b.c',
  ])
    it(`may be ${address}`, () => {
      expect(isEmail(address)).to.equal(true);
    });

  for (const address of [
    '@b.cd',
    'a@b',
    ' a@b.cd',
    'a@b.cd ',
    '.a@b.cd',
    'a.@b.cd',
    'a..b@c.de',
    'a(@b.cd',
    'a.(@b.cd',
    'a@-b.cd',
    'a@b-.cd',
    'a@b_c.de',
    'a@b.-c',
    'a@b.c-',
    'a@b.c_d',
    'a@b..cd',
    'a@b@c.de',
  ])
    it(`cannot be ${JSON.stringify(address)}`, () => {
      expect(isEmail(address)).to.equal(false);
    });
});

describe('escaping', () => {
  it('escapes the wildcards of LIKE', () => {
    expect(likePattern('50%_a\\b')).to.equal('%50\\%\\_a\\\\b%');
  });

  it('escapes the characters of HTML, so that a browser shows them as text', () => {
    expect(escapeHtml(`<a href="x">&'`)).to.equal('&lt;a href=&quot;x&quot;&gt;&amp;&#39;');
  });
});
