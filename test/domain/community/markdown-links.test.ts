import { expect } from 'chai';
import fc from 'fast-check';
import { requireSafeLinks } from '../../../domain/community/markdown-links.ts';
import { DomainError } from '../../../platform/core/errors.ts';

const verdict = (text: string): string => {
  try {
    requireSafeLinks(text);
    return 'accepted';
  } catch (error) {
    return error instanceof DomainError ? error.code : 'another error';
  }
};

describe('links of posts and comments (COMM-10)', () => {
  for (const text of [
    'plain javascript: is no link',
    '[shop](https://example.com/a?b=c)',
    '[mail](mailto:ada@example.com)',
    '![knot](https://example.com/knot.png)',
    '<https://example.com>',
    '[here](/lessons/1) and [there](#top)',
    '`[x](javascript:alert(1))`',
    '<b>bold</b>',
  ])
    it(`accepts ${text}`, () => expect(verdict(text)).to.equal('accepted'));

  for (const text of [
    '[x](javascript:alert(1))',
    '[x](JaVaScRiPt:alert(1))',
    '[x](&#106;avascript:alert(1))',
    '[x](java%0ascript:alert(1))',
    '[x](<java\tscript:alert(1)>)',
    '[x](<\u0001javascript:alert(1)>)',
    '<javascript:alert(1)>',
    '[x][r]\n\n[r]: javascript:alert(1)',
    '![x](data:text/html;base64,AAAA)',
    '[x](vbscript:msgbox)',
    '[x](file:///etc/passwd)',
    '> - [x](javascript:alert(1))',
    '<a href="javascript:alert(1)">x</a>',
    '<img src=x onerror=alert(1)>',
    '<script>alert(1)</script>',
  ])
    it(`refuses ${JSON.stringify(text)}`, () => expect(verdict(text)).to.equal('invalid_request'));

  it('judges 20,000 characters of any nesting within a second of CPU', () => {
    for (const piece of ['[', '![', '*a ', '> ', '- ', '<a ', '`', '[x](', '&#106;', '_[']) {
      const before = process.threadCpuUsage();
      verdict(piece.repeat(20_000 / piece.length));
      const { user, system } = process.threadCpuUsage(before);
      expect((user + system) / 1_000, piece).to.be.below(1_000);
    }
  });

  it('a link with a scheme is accepted exactly for four of them', () => {
    const word = fc.stringMatching(/^[a-z][a-z0-9+.-]{0,11}$/);
    fc.assert(
      fc.property(word, (scheme) => {
        const expected = ['http', 'https', 'mailto', 'tel'].includes(scheme) ? 'accepted' : 'invalid_request';
        expect(verdict(`[x](${scheme}:y)`)).to.equal(expected);
      }),
    );
  });
});
