/** Tests that every operation answers a bad body with a clear error in the error envelope, and writes nothing. */
import { expect } from 'chai';
import { gzipSync } from 'node:zlib';
import type { ContractOperation } from '../../contract/contract.ts';
import { contractDocument } from '../../contract/document.ts';
import { dereference, isObject, type JsonObject } from '../../contract/openapi.ts';
import { errorStatus, type ErrorCode } from '../../platform/core/error-codes.ts';
import { buildPermittedCaller } from '../toolkit/builders/permitted-callers.ts';
import { call, expectError, testApi, testConfig, type Answer, type Call } from '../toolkit/drive/api.ts';
import { rowCounts } from '../toolkit/stack/database.ts';
import {
  bodyOf,
  bodySchemaOf,
  nameOf,
  operationOf,
  pathOf,
  withBody as takingJson,
} from '../toolkit/drive/every-operation.ts';

/**
 * Every operation, except operations that check the sender before they read the body. test/api/notice-bodies.test.ts tests these
 * exceptions.
 */
const withBody = takingJson.filter(({ readsBodyLate }) => !readsBodyLate);

interface Case {
  what: string;
  contents: Pick<Call, 'raw' | 'body' | 'headers'>;
  code: ErrorCode;
}

/** Returns bodies that every operation refuses, because their fault does not depend on a schema. */
function unreadable({ requiresBody }: ContractOperation, good: JsonObject): Case[] {
  const text = JSON.stringify(good);
  const raw = (what: string, body: string | Uint8Array, code: ErrorCode = 'malformed_request', headers = {}): Case => ({
    what,
    contents: { raw: body, headers },
    code,
  });
  const bytes = (...parts: (string | number[])[]) => Buffer.concat(parts.map((part) => Buffer.from(part as string)));
  return [
    raw('JSON whose end is missing', text.slice(0, -1)),
    raw('JSON with a superfluous comma', `${text.slice(0, -1)},}`),
    raw('two documents', `${text}${text}`),
    raw('single quotes', text.replaceAll('"', "'")),
    raw('a text that is not JSON', 'name=Ada&email=ada%40example.com'),
    ...(requiresBody ? [raw('an empty body', '')] : []),
    raw('only blanks', '  \n'),
    raw('null', 'null'),
    raw('a number', '1'),
    raw('NaN', 'NaN'),
    raw('true', 'true'),
    raw('a string', '"text"'),
    raw('an array', `[${text}]`),
    raw('invalid UTF-8: a lone continuation byte', bytes('{"x":"', [0x80], '"}')),
    raw('invalid UTF-8: an overlong slash', bytes('{"x":"', [0xc0, 0xaf], '"}')),
    raw('invalid UTF-8: half a character at the end', bytes('{"x":"', [0xe2, 0x82], '"}')),
    raw('UTF-16', Buffer.from(text, 'utf16le')),
    raw('text/plain', text, 'unsupported_media_type', { 'content-type': 'text/plain' }),
    raw('a form', text, 'unsupported_media_type', { 'content-type': 'application/x-www-form-urlencoded' }),
    raw('multipart', text, 'unsupported_media_type', { 'content-type': 'multipart/form-data; boundary=x' }),
    raw('an unreadable content type', text, 'unsupported_media_type', { 'content-type': 'nonsense' }),
    raw('an unknown content encoding', text, 'unsupported_media_type', { 'content-encoding': 'zstd' }),
    raw('bytes that are not gzip', text, 'malformed_request', { 'content-encoding': 'gzip' }),
    raw('brackets without end', '['.repeat(1_000_000)),
    raw('more values than the limit', `{"x":[${'1,'.repeat(20_000)}1]}`),
    raw('UTF-16 with a byte-order mark', Buffer.from(`\uFEFF${text}`, 'utf16le')),
    raw('nesting without end', `{"x":${'['.repeat(50_000)}${']'.repeat(50_000)}}`),
  ];
}

function propertyOf(schema: JsonObject, name: string): JsonObject {
  const property = isObject(schema['properties']) ? schema['properties'][name] : undefined;
  return isObject(property) ? dereference(property, contractDocument.components.schemas) : {};
}

/** Returns bodies that violate the operation's own schema. */
function unfit(operation: ContractOperation, good: JsonObject): Case[] {
  const schema = bodySchemaOf(operation);
  if (schema['additionalProperties'] !== false) return [];
  const json = (what: string, body: unknown, code: ErrorCode = 'malformed_request'): Case => ({
    what,
    contents: { raw: typeof body === 'string' ? body : JSON.stringify(body) },
    code,
  });
  const properties = isObject(schema['properties']) ? Object.keys(schema['properties']) : [];
  const required = Array.isArray(schema['required']) ? schema['required'].map(String) : [];
  const takesNumbers = (name: string) =>
    typeof good[name] === 'number' || ['integer', 'number'].includes(String(propertyOf(schema, name)['type']));
  const text = JSON.stringify(good);
  const strings = properties.filter((name) => typeof good[name] === 'string');
  return [
    json('an unknown property', { ...good, unexpected: 1 }),
    json('a property that every JavaScript object has', { ...good, constructor: { prototype: { polluted: true } } }),
    json('__proto__', `${text.slice(0, -1)}${text === '{}' ? '' : ','}"__proto__":{"polluted":true}}`),
    ...required.map((name) => json(`${name} is missing`, { ...good, [name]: undefined })),
    ...properties.map((name) => json(`${name} is null`, { ...good, [name]: null })),
    ...properties.map((name) =>
      json(`${name} has the wrong type`, { ...good, [name]: takesNumbers(name) ? 'text' : 42 }),
    ),
    ...strings.map((name) => json(`${name} contains a NUL byte`, { ...good, [name]: `a\0b` }, 'invalid_request')),
    ...strings.map((name) =>
      json(
        `${name} contains half a surrogate pair`,
        text.replace(JSON.stringify(good[name]), '"a\\ud800b"'),
        'invalid_request',
      ),
    ),
  ];
}

/** Each club makes fewer calls than the lowest rate limit allows: 10 comments on a lesson in a minute. */
const callsEach = 10;

describe('an operation with a bad body', () => {
  for (const operation of withBody) {
    it(`returns the code of each fault, and writes nothing: ${nameOf(operation)}`, async () => {
      const good = bodyOf(operation) ?? {};
      const cases = [...unreadable(operation, good), ...unfit(operation, good)];
      const actual: Record<string, unknown> = {};
      const expected: Record<string, unknown> = {};
      for (let from = 0; from < cases.length; from += callsEach) {
        const { clubId, token } = await buildPermittedCaller(operation);
        const path = pathOf(operation, { clubId });
        const before = await rowCounts();
        for (const { what, contents, code } of cases.slice(from, from + callsEach)) {
          const answer = await call(operation.method.toUpperCase(), path, { token, ...contents });
          actual[what] = [answer.status, answer.body?.error?.code];
          expected[what] = [errorStatus[code], code];
        }
        expect(await rowCounts(), `cases from ${from}`).to.deep.equal(before);
      }
      expect(actual).to.deep.equal(expected);
      expect(({} as JsonObject)['polluted']).to.equal(undefined);
    });
  }
});

describe('the size of a body', () => {
  const outcome = ({ status, body }: Answer) => (status < 400 ? status : body.error.code);
  const padded = (body: unknown, bytes: number) => JSON.stringify(body).padEnd(bytes, ' ');
  let limit: number;
  before(async () => {
    limit = (await testConfig()).api.bodyLimitBytes;
  });

  describe('every operation', () => {
    for (const operation of withBody) {
      it(`accepts a body at the limit, and refuses one more byte: ${nameOf(operation)}`, async () => {
        // Each request has a new caller, because a success can change what the caller must send, such as the password.
        const send = async (raw: string) => {
          const { clubId, token } = await buildPermittedCaller(operation);
          return call(operation.method.toUpperCase(), pathOf(operation, { clubId }), { token, raw });
        };
        const good = () => bodyOf(operation);
        const usual = outcome(await send(JSON.stringify(good())));
        expect(outcome(await send(padded(good(), limit)))).to.equal(usual);
        expectError(await send(padded(good(), limit + 1)), 'body_too_large');
      });
    }
  });

  const verify = operationOf('verifyStudentEmail');
  const send = (raw: Uint8Array | string, headers: Record<string, string>) =>
    call('POST', verify.path, { raw, headers });

  it('counts bytes, not characters', async () => {
    const body = JSON.stringify({ token: '€'.repeat(limit / 3) });
    expect(body.length).to.be.below(limit);
    expectError(await send(body, {}), 'body_too_large');
  });

  it('is also limited if the request has no Content-Length', async () => {
    const { port } = await testApi();
    const chunk = new TextEncoder().encode(' '.repeat(65_536));
    const answerTo = async (chunks: number) => {
      let remaining = chunks;
      const body = new ReadableStream({
        pull(controller) {
          if (remaining-- > 0) controller.enqueue(chunk);
          else {
            controller.enqueue(new TextEncoder().encode('{"token":"unknown"}'));
            controller.close();
          }
        },
      });
      const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body, duplex: 'half' };
      const response = await fetch(`http://127.0.0.1:${port}${verify.path}`, init as RequestInit);
      return ((await response.json()) as { error: { code: string } }).error.code;
    };
    expect(await answerTo(2)).to.equal('token_gone');
    expect(await answerTo(limit / chunk.length)).to.equal('body_too_large');
  });

  it('is counted after the decompression of a compressed body', async () => {
    const gzip = (text: string) => gzipSync(text);
    const headers = { 'content-encoding': 'gzip' };
    expectError(await send(gzip(JSON.stringify({ token: 'unknown' })), headers), 'token_gone');
    const bomb = gzip(padded({ token: 'unknown' }, 50 * limit));
    expect(bomb.length).to.be.below(limit);
    expectError(await send(bomb, headers), 'body_too_large');
  });
});
