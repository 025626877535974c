/** Tests rules for every request: paths, methods, headers, origins and request ids. */
import { expect } from 'chai';
import { newId } from '../../platform/core/ids.ts';
import { buildClub, buildStudent } from '../toolkit/builders/clubs.ts';
import { buildPermittedCaller } from '../toolkit/builders/permitted-callers.ts';
import { call, expectError, testApi } from '../toolkit/drive/api.ts';
import { sendRawTo, type RawAnswer } from '../toolkit/drive/raw.ts';
import { rowCounts } from '../toolkit/stack/database.ts';
import { everyOperation, nameOf, pathOf } from '../toolkit/drive/every-operation.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';

const sendRaw = async (...parts: readonly (string | Buffer)[]) => sendRawTo((await testApi()).port, ...parts);
const request = (line: string, ...headers: string[]) =>
  `${line} HTTP/1.1\r\n${['Host: api.example.com', 'Connection: close', ...headers].join('\r\n')}\r\n\r\n`;
const codeOf = ({ body }: RawAnswer): string => (JSON.parse(body) as { error: { code: string } }).error.code;

describe('404 for an unknown path', () => {
  it('returns the error envelope, with and without a session, for every method', async () => {
    const { owner } = await buildClub();
    await eachCase(
      ['/', '/v1', '/v2/me', '/v1/nothing', '/internal/anything', '/v1/clubs', '/favicon.ico'],
      async (path) =>
        eachCase(['GET', 'POST', 'PATCH', 'PUT', 'DELETE'], async (method) =>
          eachCase([undefined, owner.token], async (token) =>
            expectError(await call(method, path, { token }), 'not_found'),
          ),
        ),
    );
  });

  it('is returned if the letter case of the path is wrong, or a slash is added or missing', async () => {
    const { token } = (await buildClub()).owner;
    await eachCase(
      ['/V1/me', '/v1/Me', '/v1/me/', '//v1/me', '/v1//me', '/v1/me%2F', '/v1/clubs//students'],
      async (path) => expectError(await call('GET', path, { token }), 'not_found'),
    );
  });
});

describe('405 for a method that a known path does not have', () => {
  /** Returns the methods of exactly this path. For example, `media/{mediaId}` also matches `media/storage`, but they are two paths. */
  const methodsOf = (path: string) =>
    everyOperation.filter((operation) => operation.path === path).map(({ method }) => method.toUpperCase());

  it('is returned for every path of the contract, with the allowed methods in the header Allow', async () => {
    await eachCase(new Set(everyOperation.map((operation) => operation.path)), async (path) => {
      const own = methodsOf(path);
      const [operation] = everyOperation.filter((candidate) => candidate.path === path);
      if (!operation) return;
      await eachCase(
        ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND'].filter((name) => !own.includes(name)),
        async (method) => {
          const answer = await call(method, pathOf(operation));
          expectError(answer, 'method_not_allowed');
          expect(answer.headers.get('allow')?.split(', ')).to.have.members(own);
        },
      );
    });
  });

  it('needs no session', async () => {
    const answer = await call('PUT', '/v1/me');
    expectError(answer, 'method_not_allowed');
    expect(answer.headers.get('allow')).to.equal('GET, PATCH');
  });
});

describe('malformed percent-encoding in a path', () => {
  it('returns 403, 404 or 422, and never 500', async () => {
    const { id, owner } = await buildClub();
    const student = await buildStudent(id);
    await eachCase(['%', '%zz', '%E0%A4%A', '%c0%af', '%00', '%FF'], async (bad) => {
      expectError(await call('GET', `/v1/clubs/${id}/students/${bad}`, { token: owner.token }), 'invalid_request');
      expectError(await call('GET', `/v1/clubs/${bad}/students`, { token: owner.token }), 'forbidden');
      expectError(await call('GET', `/v1/${bad}`), 'not_found');
      expectError(await call('GET', `/docs/${bad}`), 'not_found');
      const agent = await call('POST', `/v1/clubs/${id}/classroom/agents/${bad}/messages`, {
        token: student.token,
        body: { id: '0b8c2f8e-7a34-4c4e-9d3b-6a5b2c1d0e9f', content: 'Why?' },
      });
      expectError(agent, bad === '%00' ? 'invalid_request' : 'not_found');
    });
  });
});

describe('query parameters', () => {
  it('cause 400 if they are unknown, in every operation without parameters', async () => {
    for (const operation of everyOperation.filter(({ takesAnyQuery }) => !takesAnyQuery)) {
      const { clubId, token } = await buildPermittedCaller(operation);
      const path = `${pathOf(operation, { clubId })}?unexpected=1`;
      const answer = await call(operation.method.toUpperCase(), path, { token });
      expect(answer.body?.error?.code, nameOf(operation)).to.equal('malformed_request');
    }
  });

  it('cause 400 if they are repeated or of a wrong type, and 422 if they contain a NUL byte', async () => {
    const { id, owner } = await buildClub();
    const list = (query: string) => call('GET', `/v1/clubs/${id}/students?${query}`, { token: owner.token });
    const malformed = [
      'q=a&q=b',
      'page=1&page=1',
      'page=',
      'page=1.5',
      'page=1e1',
      'page=0x1',
      'page=%201',
      'page=one',
    ];
    const names = ['verified=1', 'verified=', 'q[]=a', '__proto__=1', 'constructor=1', 'toString=1', '=', '=1', '%=1'];
    for (const query of [...malformed, ...names]) {
      const answer = await list(query);
      expect(answer.body?.error?.code, query).to.equal('malformed_request');
    }
    expectError(await list('q=%00'), 'invalid_request');
    for (const query of ['', '&', '&&', 'q=%', 'q=%zz', 'q=+']) expect((await list(query)).status, query).to.equal(200);
  });
});

describe('HEAD', () => {
  it('returns the status and headers of GET without a body', async () => {
    const { id, owner } = await buildClub();
    const head = (path: string, token?: string) => call('HEAD', path, { token });
    const good = await head(`/v1/clubs/${id}/students`, owner.token);
    expect([good.status, good.text]).to.deep.equal([200, '']);
    const refused = await head(`/v1/clubs/${id}/students`);
    expect([refused.status, refused.text]).to.deep.equal([401, '']);
    expect((await head(`/v1/clubs/${newId()}/students`, owner.token)).status).to.equal(403);
    expect((await head('/v1/nothing')).status).to.equal(404);
  });
});

describe('headers', () => {
  it('cause 431 in the error envelope if a header or the address has 64 KB', async () => {
    const before = await rowCounts();
    const answer = await sendRaw(request('GET /v1/me', `X-Filler: ${'x'.repeat(65_536)}`));
    expect([answer.status, codeOf(answer)]).to.deep.equal([431, 'headers_too_large']);
    const address = await sendRaw(request(`GET /v1/me?${'x'.repeat(65_536)}`));
    expect([address.status, codeOf(address)]).to.deep.equal([431, 'headers_too_large']);
    expect(await rowCounts()).to.deep.equal(before);
  });

  it('cause 400 in the error envelope if the HTTP is unreadable', async () => {
    for (const bytes of [
      'nonsense\r\n\r\n',
      'GET\r\n\r\n',
      'GET /v1/me HTTP/1.1\r\n\r\n',
      request('GET /v1/me', 'No colon here'),
      request('BREW /v1/me'),
      `${request('POST /v1/auth/verify-email', 'Content-Type: application/json', 'Transfer-Encoding: chunked')}ZZ\r\n`,
    ]) {
      const answer = await sendRaw(bytes);
      expect([answer.status, codeOf(answer)], bytes.slice(0, 20)).to.deep.equal([400, 'malformed_request']);
    }
  });

  it('cause 400 if they state two lengths of the body, so that requests cannot be smuggled', async () => {
    const smuggled = 'Content-Type: application/json';
    await eachCase(
      [
        ['Content-Length: 2', 'Content-Length: 20'],
        ['Content-Length: 2', 'Transfer-Encoding: chunked'],
      ],
      async (headers) => {
        const answer = await sendRaw(request('POST /v1/auth/verify-email', smuggled, ...headers), '{}');
        expect([answer.status, codeOf(answer)]).to.deep.equal([400, 'malformed_request']);
      },
    );
  });

  it('may have an unknown value of Expect', async () => {
    const answer = await sendRaw(request('GET /v1/me', 'Expect: the-unexpected'));
    expect([answer.status, codeOf(answer)]).to.deep.equal([401, 'unauthenticated']);
  });

  it('cause 415 if there is a body but no content type', async () => {
    const answer = await sendRaw(request('POST /v1/auth/verify-email', 'Content-Length: 2'), '{}');
    expect([answer.status, codeOf(answer)]).to.deep.equal([415, 'unsupported_media_type']);
  });

  it('may name a charset, another JSON type, or the content type in upper case', async () => {
    const raw = '{"token":"unknown"}';
    await eachCase(
      ['application/json; charset=utf-8', 'APPLICATION/JSON', 'application/problem+json'],
      async (type) => {
        const answer = await call('POST', '/v1/auth/verify-email', { raw, headers: { 'content-type': type } });
        expectError(answer, 'token_gone');
      },
    );
  });

  it('of every answer are JSON in UTF-8, no-store and nosniff, without a cookie', async () => {
    const { token } = (await buildClub()).owner;
    await eachCase(
      [await call('GET', '/v1/me', { token }), await call('GET', '/v1/me'), await call('GET', '/no')],
      (answer) => {
        expect(answer.headers.get('content-type')).to.equal('application/json; charset=utf-8');
        expect(answer.headers.get('cache-control')).to.equal('no-store');
        expect(answer.headers.get('x-content-type-options')).to.equal('nosniff');
        expect(answer.headers.get('x-powered-by')).to.equal(null);
        expect(answer.headers.get('set-cookie')).to.equal(null);
      },
    );
  });
});

describe('CORS', () => {
  const allowed = 'https://dashboard.example.com';
  const others = [
    'https://evil.example.com',
    'https://dashboard.example.com.evil.example',
    'http://dashboard.example.com',
    'null',
  ];
  const corsOf = (headers: Headers) => [...headers].filter(([name]) => name.startsWith('access-control-'));

  it('allows a listed origin, even in error answers, and never allows credentials', async () => {
    const { token } = (await buildClub()).owner;
    const headers = { origin: allowed };
    await eachCase(
      [
        await call('GET', '/v1/me', { token, headers }),
        await call('GET', '/v1/me', { headers }),
        await call('GET', '/v1/nothing', { headers }),
        await call('POST', '/v1/auth/verify-email', { raw: '{', headers }),
      ],
      (answer) => {
        expect(answer.headers.get('access-control-allow-origin'), String(answer.status)).to.equal(allowed);
        expect(answer.headers.get('access-control-expose-headers')).to.equal(
          'Deprecation,ETag,Idempotent-Replayed,Link,Location,RateLimit,RateLimit-Policy,Retry-After,Sunset,X-Request-Id',
        );
        expect(answer.headers.get('access-control-allow-credentials')).to.equal(null);
        expect(answer.headers.get('vary')).to.match(/\borigin\b/i);
      },
    );
  });

  it('allows no origin that is not listed', async () => {
    await eachCase([{}, ...others.map((origin) => ({ origin }))], async (headers) => {
      const answer = await call('GET', '/v1/me', { headers });
      expect(corsOf(answer.headers)).to.deep.equal([]);
      expect(answer.headers.get('vary')).to.match(/\borigin\b/i);
    });
  });

  it('allows a preflight request only from a listed origin', async () => {
    const preflight = (origin: string) =>
      call('OPTIONS', '/v1/auth/sign-in', {
        headers: {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'authorization,content-type',
        },
      });
    const answer = await preflight(allowed);
    expect([answer.status, answer.text]).to.deep.equal([204, '']);
    expect(Object.fromEntries(corsOf(answer.headers))).to.deep.equal({
      'access-control-allow-origin': allowed,
      'access-control-allow-methods': 'GET,POST,PUT,PATCH,DELETE',
      'access-control-allow-headers': 'Authorization,Content-Type,Idempotency-Key,If-Match,Last-Event-ID,X-Request-Id',
      'access-control-max-age': '600',
    });
    await eachCase(others, async (origin) => expect(corsOf((await preflight(origin)).headers)).to.deep.equal([]));
  });

  it('answers OPTIONS without an origin with 405 and Allow', async () => {
    const answer = await call('OPTIONS', '/v1/auth/session');
    expectError(answer, 'method_not_allowed');
    expect(answer.headers.get('allow')?.split(', ')).to.have.members(['GET', 'PATCH', 'DELETE']);
  });
});

describe('X-Request-Id', () => {
  const idFor = async (sentId?: string) =>
    (await call('GET', '/v1/me', { headers: sentId === undefined ? {} : { 'x-request-id': sentId } })).headers.get(
      'x-request-id',
    );
  const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

  it('is a new UUID for every request', async () => {
    const [one, two] = [await idFor(), await idFor()];
    expect(one).to.match(uuid).and.not.equal(two);
  });

  it('repeats the caller’s id of 8 to 64 letters, digits, dots, dashes and underscores', async () => {
    await eachCase(['abcd1234', 'A.b_c-1.2', 'x'.repeat(64), newId()], async (id) =>
      expect(await idFor(id)).to.equal(id),
    );
  });

  it('replaces a caller’s id that could break a log line or a header', async () => {
    for (const id of [
      'short',
      'x'.repeat(65),
      'with blanks in',
      '"quoted-id"',
      'id=1;drop',
      '<script>1</script>',
      'ünïcödé-id',
    ]) {
      expect(await idFor(id), id).to.match(uuid);
    }
  });

  it('is also sent with errors', async () => {
    const answer = await call('GET', '/v1/nothing', { headers: { 'x-request-id': 'my-request-1' } });
    expect(answer.headers.get('x-request-id')).to.equal('my-request-1');
  });
});
