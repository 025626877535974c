/** Tests raw requests that a proxy and this service could interpret as different requests (DEC-152). */
import { expect } from 'chai';
import { headFault } from '../../api/request-head.policy.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { testApi } from '../toolkit/drive/api.ts';
import { allSaid, sendRawTo } from '../toolkit/drive/raw.ts';
import { rowCounts } from '../toolkit/stack/database.ts';

const portOf = async (listener: 'API' | 'files') => {
  const { port, filesUrl } = await testApi();
  return listener === 'API' ? port : Number(new URL(filesUrl).port);
};
const host = 'Host: api.example.com';
const requestOf = (line: string, ...fields: readonly string[]) =>
  `${line}\r\n${fields.map((field) => `${field}\r\n`).join('')}\r\n`;
const get = (...fields: readonly string[]) => requestOf('GET /healthz HTTP/1.1', ...fields);
const close = 'Connection: close';

describe('the head of a request', () => {
  for (const listener of ['API', 'files'] as const) {
    const outcomeOf = async (bytes: string) => {
      const { status, head, body } = await sendRawTo(await portOf(listener), bytes);
      const { error } = JSON.parse(body) as { error?: { code: string } };
      return { status, code: error?.code, closes: /^connection: close$/im.test(head) };
    };

    it(`causes 400 at the listener ${listener} if Host, target or header lines are ambiguous`, async () => {
      await eachCase(
        [
          get(),
          get(host, host),
          get(host, 'Host: other.example.com'),
          get('host: api.example.com', 'HOST: other.example.com'),
          get('Host:'),
          get('Host: api.example.com, other.example.com'),
          get('Host: api.example.com/path'),
          get('Host: user@api.example.com'),
          get('Host: api.example.com:80:80'),
          get('Host: api.example.com:port'),
          get('Host: api example com'),
          get('Host: api.example.com\\'),
          get('Host: <script>'),
          get('Host: [::1'),
          get('Host : api.example.com'),
          get(host, ' folded: yes'),
          get(host, 'X-Odd\u0000: 1'),
          get(host, 'Authorization: Bearer one', 'Authorization: Bearer two'),
          get(host, 'Authorization: Bearer one', 'authorization: Bearer one'),
          get(host, 'Content-Type: application/json', 'Content-Type: text/plain'),
          get(host, 'Content-Length: 0', 'Content-Length: 0'),
          get(host, 'Content-Length: 0, 0'),
          get(host, 'Content-Length: +0'),
          get(host, 'Content-Length: -1'),
          get(host, 'Content-Length: 0', 'Transfer-Encoding: chunked'),
          get(host, 'Transfer-Encoding: gzip'),
          requestOf('GET http://other.example.com/healthz HTTP/1.1', host),
          requestOf('GET http://api.example.com@other.example.com/healthz HTTP/1.1', host),
          requestOf('GET http://api.example.com\\@other.example.com/healthz HTTP/1.1', host),
          requestOf('GET ftp://api.example.com/healthz HTTP/1.1', host),
          requestOf('GET healthz HTTP/1.1', host),
          requestOf('CONNECT other.example.com:443 HTTP/1.1', host),
          requestOf('GET /healthz HTTP/1.1 ', host),
          requestOf('GET /healthz HTTP/9.9', host),
          requestOf('GET /health z HTTP/1.1', host),
        ],
        async (bytes) =>
          expect(await outcomeOf(bytes), JSON.stringify(bytes)).to.deep.equal({
            status: 400,
            code: 'malformed_request',
            closes: true,
          }),
      );
    });

    it(`may name the host by name or address, with or without a port, at the listener ${listener}`, async () => {
      await eachCase(
        [
          get(host, close),
          get('HOST:api.example.com', close),
          get('Host: API.Example.Com.:8080', close),
          get('Host: some_service', close),
          get('Host: 127.0.0.1:8080', close),
          get('Host: [::1]', close),
          get('Host: [::ffff:127.0.0.1]:8080', close),
          get(host, close, 'X-Forwarded-For: 192.0.2.1', 'X-Forwarded-For: 192.0.2.2'),
          requestOf('GET /healthz HTTP/1.0'),
          requestOf('GET http://api.example.com/healthz HTTP/1.1', host, close),
          requestOf('GET HTTP://API.example.com/healthz?x#y HTTP/1.1', host, close),
        ],
        async (bytes) => expect((await outcomeOf(bytes)).status, JSON.stringify(bytes)).to.equal(200),
      );
    });
  }

  it('ends the connection if it is refused, after the answers to earlier requests', async () => {
    const before = await rowCounts();
    const body = JSON.stringify({ name: 'Ada', email: 'ada@example.com', password: 'a phrase of no person' });
    const json = ['Content-Type: application/json', `Content-Length: ${body.length}`];
    const signUp = requestOf('POST /v1/auth/admin/sign-up HTTP/1.1', host, ...json) + body;
    const text = await allSaid((await testApi()).port, get(host) + get(host, host) + signUp);
    const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status);
    expect(statuses).to.deep.equal(['200', '400']);
    expect(await rowCounts()).to.deep.equal(before);
  });

  it('is refused with the name of a repeated header field, but without its values', () => {
    const rawHeaders = ['Host', 'a', 'Authorization', 'Bearer secret', 'authorization', 'Bearer other'];
    expect(headFault({ httpVersion: '1.1', url: '/', rawHeaders })).to.equal(
      'The request has 2 header fields authorization. Send one.',
    );
  });
});
