/** Tests that every answer, whatever code creates it, has the security headers. There are a few exceptions. */
import { expect } from 'chai';
import { startApi } from '../../api/server.ts';
import { secureHeadersOf } from '../../api/secure-headers.policy.ts';
import { newId } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildClub } from '../toolkit/builders/clubs.ts';
import { askingOf, openAskingClassroom } from '../toolkit/drive/asking.ts';
import { call, clock, testConfig } from '../toolkit/drive/api.ts';
import { sendRawTo } from '../toolkit/drive/raw.ts';

const usual: Record<string, string> = {
  'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};
const byHttps = { ...usual, 'strict-transport-security': 'max-age=31536000' };
const names = Object.keys(byHttps);

const fieldsOf = (headers: Headers) =>
  Object.fromEntries(names.flatMap((name) => (headers.has(name) ? [[name, headers.get(name)]] : [])));
const fieldsIn = (head: string) =>
  Object.fromEntries(
    head
      .split('\r\n')
      .map((line) => /^([^:]+): (.*)$/.exec(line))
      .flatMap((found) => (found ? [[(found[1] ?? '').toLowerCase(), found[2]]] : []))
      .filter(([name = '']) => names.includes(name)),
  );

describe('security headers of every answer', () => {
  /**
   * Sends to both listeners requests for existing paths, for missing paths, and unreadable ones. Calls `check` with the headers of each
   * answer.
   */
  async function eachAnswer(
    urls: { PUBLIC_URL: string; FILES_URL: string },
    check: (fields: object, listener: 'API' | 'files', what: string) => void,
  ): Promise<void> {
    const api = await startApi(await testConfig(urls), { clock: clock.now, readinessGraceMs: 0 });
    const files = Number(new URL(api.filesUrl).port);
    try {
      const paths = [
        '/healthz',
        '/readyz',
        '/v1/openapi.json',
        '/v1/me',
        '/v1/nothing',
        '/',
        '/docs/start.js',
        '/docs/no',
      ];
      for (const path of paths)
        for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS', 'BREW'])
          check(
            fieldsIn(
              (await sendRawTo(api.port, `${method} ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)).head,
            ),
            'API',
            `${method} ${path}`,
          );
      for (const [listener, port] of [
        ['API', api.port],
        ['files', files],
      ] as const) {
        for (const line of ['GET /files/nothing', 'POST /uploads', 'OPTIONS /uploads', 'GET /uploads', 'OPTIONS *'])
          check(
            fieldsIn((await sendRawTo(port, `${line} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)).head),
            listener,
            line,
          );
        for (const bytes of [
          'nonsense\r\n\r\n',
          'GET / HTTP/1.1\r\n\r\n',
          'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n',
          'CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n',
          `GET /?${'x'.repeat(65_536)} HTTP/1.1\r\nHost: a\r\n\r\n`,
        ])
          check(fieldsIn((await sendRawTo(port, bytes)).head), listener, bytes.slice(0, 30));
      }
    } finally {
      await api.stop();
    }
  }

  it('contain HSTS in every answer of a listener with a public https address', async () => {
    // The test's listener of files has a local http address, because its port is chosen by the system.
    const urls = { PUBLIC_URL: 'https://api.example.com', FILES_URL: 'https://files.example.com' };
    await eachAnswer(urls, (fields, listener, what) =>
      expect(fields, what).to.deep.equal(listener === 'API' ? byHttps : usual),
    );
  });

  it('contain no HSTS if the public address is http', async () => {
    await eachAnswer({ PUBLIC_URL: 'http://localhost:8080', FILES_URL: 'http://localhost:8083' }, (fields, _, what) =>
      expect(fields, what).to.deep.equal(usual),
    );
  });

  it('contain HSTS if the address of their listener has https, and otherwise do not', () => {
    const hsts = (url: string) => secureHeadersOf(url)['Strict-Transport-Security'];
    expect(hsts('https://files.example.com')).to.equal('max-age=31536000');
    expect(hsts('http://files.example.com')).to.equal(undefined);
  });

  it('are also on a stream of events', async () => {
    const { openAgent, student } = await openAskingClassroom();
    const { stream } = await askingOf(openAgent, student).ask();
    expect(stream.headers).to.include(usual);
    stream.close();
  });

  it('let other sites load only mail images, tracked links and public files', async () => {
    const { id, owner } = await buildClub();
    const policyOf = async (path: string) =>
      (await call('GET', path, { token: owner.token })).headers.get('cross-origin-resource-policy');
    await eachCase(
      [
        '/mail/openings/unknown',
        '/mail/links/unknown',
        `/public/media/${newId()}/preview`,
        `/public/media/${newId()}/thumbnail`,
      ],
      async (path) => expect(await policyOf(path), path).to.equal('cross-origin'),
    );
    await eachCase(
      [`/v1/clubs/${id}/students`, '/v1/me', '/certificates/AAAABBBBCCCC', '/mail/previews/unknown'],
      async (path) => expect(await policyOf(path), path).to.equal('same-origin'),
    );
  });

  it('are on answers with and without a session', async () => {
    const { id, owner } = await buildClub();
    await eachCase([owner.token, undefined], async (token) =>
      expect(fieldsOf((await call('GET', `/v1/clubs/${id}/students`, { token })).headers)).to.deep.equal(usual),
    );
  });
});
