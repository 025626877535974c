/** Tests the pages of the classroom on which a session link lets a student land (ENTRY-3). */
import { expect } from 'chai';
import fc from 'fast-check';
import { isClassroomPath, sessionLinkRules } from '../../../../domain/identity/sessions/session-links.policy.ts';

describe('isClassroomPath', () => {
  const inside = [
    '/',
    '/courses/knots',
    '/courses/knots?tab=files&q=a%20b#top',
    '/a//b',
    "/~x/!$&'()*+,;=:@",
    '/?next=%2F',
  ];
  for (const path of inside) it(`accepts ${path}`, () => expect(isClassroomPath(path)).to.equal(true));

  const outside: Readonly<Record<string, readonly string[]>> = {
    'no path': ['', 'courses', 'javascript:alert(1)', 'https://evil.example/', '@evil.example', '.evil.example', ':1'],
    'another host': ['//evil.example', '///evil.example', '/\\evil.example', '\\/evil.example', '\\\\evil.example'],
    'characters that browsers remove': ['/\t/evil.example', '/\n/evil.example', '\t//evil.example', ' /a', '/a '],
    'dot segments': ['/..//evil.example', '/.//evil.example', '/%2e%2e//evil.example', '/a/../b', '/a/.', '/%2E/b'],
    'encoded slashes': ['/%2f/evil.example', '/%2Fevil.example', '/%5Cevil.example', '/a%2fb'],
    'characters that browsers encode': ['/a b', '/é', '/a"b', '/a?b=<c>', '/a#b c', '/\u0000'],
    'too long a text': [`/${'x'.repeat(sessionLinkRules.longestPath)}`],
  };
  for (const [reason, paths] of Object.entries(outside))
    it(`refuses ${reason}`, () => expect(paths.filter(isClassroomPath)).to.deep.equal([]));

  it('accepts only texts that stay the same page of each classroom, however a front end follows them', () => {
    const piece = fc.constantFrom(
      '/',
      '\\',
      '.',
      '..',
      '%2e',
      '%2F',
      '%5c',
      '@',
      ':',
      '//',
      '?',
      '#',
      'evil.example',
      'a',
      ' ',
      '\t',
      '\n',
      'é',
      '%',
      '"',
    );
    const text = fc.oneof(
      fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join('')),
      fc.array(piece, { maxLength: 8 }).map((pieces) => `/${pieces.join('')}`),
      fc.string({ unit: 'binary', maxLength: 20 }).map((rest) => `/${rest}`),
    );
    let accepted = 0;
    fc.assert(
      fc.property(text, (path) => {
        if (!isClassroomPath(path)) return;
        accepted += 1;
        for (const base of ['https://club.example', 'https://classrooms.example/club']) {
          const { origin, pathname } = new URL(base);
          // A front end resolves the path, or appends it to its own address, or decodes it in its router.
          expect(new URL(path, base).origin).to.equal(origin);
          const appended = new URL(base + path);
          expect(appended.origin).to.equal(origin);
          expect(appended.href).to.equal(base + path);
          expect(appended.pathname.startsWith(`${pathname}/`.replace('//', '/'))).to.equal(true);
          const decoded = path.replaceAll(/%2f|%2e|%5c/gi, (code) => decodeURIComponent(code)).split(/[?#]/)[0] ?? '';
          expect(new URL(decoded, base).origin).to.equal(origin);
        }
      }),
      { numRuns: 5_000 },
    );
    expect(accepted).to.be.above(100);
  });
});
