import { expect } from 'chai';
import * as fc from 'fast-check';
import { referenceProviders } from '../../../../entities/media/values.ts';
import { externalIdOf } from '../../../../domain/media/library/references.policy.ts';

const id = 'dQw4w9WgXc-';

describe('references to content elsewhere (MED-3, MED-9)', () => {
  it('accept ids and pasted addresses of the first video site', () => {
    const pasted = [
      id,
      ` ${id} `,
      `https://www.youtube.com/watch?v=${id}`,
      `http://youtube.com/watch?t=10s&v=${id}&list=PL0`,
      `www.youtube.com/watch?v=${id}`,
      `youtu.be/${id}?si=abc`,
      `https://m.youtube.com/shorts/${id}`,
      `https://www.youtube.com/live/${id}?feature=share`,
      `HTTPS://WWW.YOUTUBE.COM/embed/${id}`,
      `youtu.be/${id}?from=https://knots.org`,
      `https://www.youtube-nocookie.com/embed/${id}?rel=0#t=1`,
    ];
    for (const text of pasted) expect(externalIdOf('videosite1', text), text).to.equal(id);
  });

  it('accept ids and addresses of the second video site, even of an unlisted video', () => {
    const pasted: [string, string][] = [
      ['76979871', '76979871'],
      ['https://vimeo.com/76979871', '76979871'],
      ['vimeo.com/channels/staffpicks/76979871', '76979871'],
      ['vimeo.com/channels/top10/76979871', '76979871'],
      ['vimeo.com/2nd-channel/76979871', '76979871'],
      ['https://player.vimeo.com/video/76979871?h=0a1b2c3d4e', '76979871/0a1b2c3d4e'],
      ['https://vimeo.com/76979871/0a1b2c3d4e', '76979871/0a1b2c3d4e'],
    ];
    for (const [text, storedId] of pasted) expect(externalIdOf('videosite2', text), text).to.equal(storedId);
  });

  it('accept ids and addresses of the protected player', () => {
    expect(externalIdOf('protectedvideo', 'a1b2-c3_d4')).to.equal('a1b2-c3_d4');
    const address = 'https://player.example.com.br/embed/?v=1';
    expect(externalIdOf('protectedvideo', address)).to.equal(address);
    expect(externalIdOf('external', 'https://KNOTS.example.org/a b'.replace(' ', '%20'))).to.equal(
      'https://knots.example.org/a%20b',
    );
    expect(externalIdOf('external', 'https://nós.example.org/')).to.equal('https://xn--ns-5ja.example.org/');
  });

  it('refuse addresses of other hosts and pages without a video', () => {
    const hostile = [
      `https://www.youtube.com.evil.example/watch?v=${id}`,
      `https://evil.example/watch?v=${id}`,
      `https://www.youtube.com@evil.example/watch?v=${id}`,
      `https://evil.example\\@www.youtube.com/watch?v=${id}`,
      `https://www.youtube.com:8443/watch?v=${id}`,
      `javascript:alert(1)//youtu.be/${id}`,
      `//youtu.be/${id}`,
      'https://www.youtube.com/channel/UC123',
      `https://www.youtube.com/playlist/${id}`,
      'https://www.youtube.com/watch?v=',
      `https://www.youtube.com/watch?v=${id}"onload=`,
      `${id}x`,
      '',
    ];
    for (const text of hostile) expect(externalIdOf('videosite1', text), text).to.equal(undefined);
    expect(externalIdOf('videosite2', 'https://vimeo.com/about')).to.equal(undefined);
    expect(externalIdOf('videosite2', 'https://vimeo.com/76979871/../../x')).to.equal(undefined);
  });

  it('refuse scripts, names of private networks, and IP addresses', () => {
    const hostile = [
      'javascript:alert(1)',
      'data:text/html,<script>alert(1)</script>',
      'vbscript:x',
      'file:///etc/passwd',
      'blob:https://knots.org/1',
      'http://knots.org/',
      'https://',
      'https:///knots.org',
      'https://user:pass@knots.org/',
      'https://user@knots.org/',
      'https://:pass@knots.org/',
      'https://knots.org:8080/',
      'https://localhost/',
      'https://localhost./',
      'https://localhost../',
      'https://printer.local..../',
      'https://printer.local/',
      'https://app.localhost/',
      'https://intranet/',
      'https://127.0.0.1/',
      'https://2130706433/',
      'https://0x7f.1/',
      'https://[::1]/',
      'https://10.0.0.1/',
      'https://169.254.169.254/latest/meta-data',
      'https://knots.org/\njavascript:alert(1)',
      'https://knots.org/\u202egpj.exe',
      'https://knots.org\\@evil.org',
      'https://knots.org/"><script>',
      `https://knots.org/${'a'.repeat(2_048)}`,
    ];
    for (const text of hostile)
      for (const provider of ['external', 'protectedvideo'] as const)
        expect(externalIdOf(provider, text), text).to.equal(undefined);
  });

  it('accept host names that start or end with digits', () => {
    for (const address of ['https://3d.knots.org/', 'https://knots.xn--45q1/', 'https://1.2.knots.x1/'])
      expect(externalIdOf('external', address), address).to.equal(address);
  });

  it('accept pasted and stored addresses of up to 2,048 characters', () => {
    const address = `https://knots.org/${'a'.repeat(2_030)}`;
    expect(address).to.have.length(2_048);
    expect(externalIdOf('external', address)).to.equal(address);
    expect(externalIdOf('external', `${address}a`)).to.equal(undefined);
    expect(externalIdOf('external', `https://knots.org/${'a/../'.repeat(500)}`)).to.equal(undefined);
    expect(externalIdOf('external', `https://knots.org/${'é'.repeat(500)}`)).to.equal(undefined);
    const video = `https://youtu.be/${id}?from=http://`;
    expect(externalIdOf('videosite1', video.padEnd(2_048, 'a'))).to.equal(id);
  });

  it('do not change if a stored value is entered again', () => {
    const part = fc.constantFrom(
      'https://',
      'youtu.be/',
      '@',
      ':',
      '\\',
      '/',
      '?v=',
      id,
      'vimeo.com/',
      '1',
      '\u0000',
      ' ',
      '"',
      '[',
      'é',
      '.',
    );
    fc.assert(
      fc.property(fc.constantFrom(...referenceProviders), fc.array(part, { maxLength: 12 }), (provider, parts) => {
        const storedId = externalIdOf(provider, parts.join(''));
        if (storedId === undefined) return;
        expect(storedId).to.match(/^(?:https:\/\/[a-z0-9.-]+\/[^\s"\\<>]*|[\w-]{1,128}|\d{1,19}\/[0-9a-f]{1,40})$/);
        expect(externalIdOf(provider, storedId)).to.equal(storedId);
      }),
      { numRuns: 2_000 },
    );
  });
});
