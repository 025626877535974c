import { expect } from 'chai';
import fc from 'fast-check';
import { jsonBounds, noticeBounds, readJson, UnreadableJson } from '../../../platform/core/json.ts';
import { eachCase } from '../../toolkit/assert/each-case.ts';

const mark = Buffer.from([0xef, 0xbb, 0xbf]);
const bytes = (text: string) => Buffer.from(text);
const refusalOf = (source: Uint8Array | string, bounds = jsonBounds): string => {
  try {
    readJson(source, bounds);
  } catch (error) {
    if (error instanceof UnreadableJson && error.code === 'malformed_request') return error.message;
    throw error;
  }
  return 'read';
};

describe('parsing untrusted JSON', () => {
  it('parses bytes and strings alike', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 8 }), (value) => {
        const text = JSON.stringify(value);
        const expected = JSON.parse(text) as unknown;
        expect(readJson(bytes(text))).to.deep.equal(expected);
        expect(readJson(text)).to.deep.equal(expected);
      }),
    );
  });

  it('ignores one byte-order mark at the start, and refuses a second mark', () => {
    expect(readJson(Buffer.concat([mark, bytes('{"a":"é"}')]))).to.deep.equal({ a: 'é' });
    expect(readJson(Buffer.concat([mark, bytes(' \n[1]')]))).to.deep.equal([1]);
    expect(readJson('\uFEFF[1]')).to.deep.equal([1]);
    expect(readJson(bytes('"\uFEFF"'))).to.equal('\uFEFF');
    expect(refusalOf(Buffer.concat([mark, mark, bytes('{}')]))).to.equal('The body is not valid JSON.');
  });

  it('refuses UTF-16, UTF-32 and invalid UTF-8', async () => {
    const utf16 = Buffer.from('\uFEFF{"a":1}', 'utf16le');
    await eachCase(
      [
        utf16,
        Buffer.from(utf16).swap16(),
        Buffer.from('{"x":"\x80"}', 'latin1'),
        Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]),
      ],
      (source) => {
        expect(refusalOf(source)).to.equal('The body is not valid UTF-8.');
      },
    );
    await eachCase([utf16.subarray(2), Buffer.from([0, 0, 0, 0x7b]), Buffer.alloc(0)], (source) => {
      expect(refusalOf(source)).to.equal('The body is not valid JSON.');
    });
  });

  it('uses the last of two properties with one name', () => {
    expect(readJson('{"a":1,"a":2}')).to.deep.equal({ a: 2 });
    const value = readJson('{"__proto__":{"polluted":true}}') as Record<string, unknown>;
    expect(Object.getPrototypeOf(value)).to.equal(Object.prototype);
    expect(({} as Record<string, unknown>)['polluted']).to.equal(undefined);
  });

  it('keeps lone surrogates, NUL characters and numbers beyond the range of a double', () => {
    expect(readJson('["\\ud800","\\u0000",1e999,-1e999]')).to.deep.equal(['\ud800', '\0', Infinity, -Infinity]);
  });

  it('refuses 65 nested levels, and ignores brackets in strings', () => {
    const nested = (levels: number) => `${'['.repeat(levels)}"]]]\\"[[[\\\\"${']'.repeat(levels)}`;
    expect(refusalOf(nested(64))).to.equal('read');
    expect(refusalOf(nested(65))).to.equal('The body is nested deeper than 64 levels.');
    expect(refusalOf('{"a":'.repeat(65))).to.equal('The body is nested deeper than 64 levels.');
    expect(refusalOf(JSON.stringify('['.repeat(100)))).to.equal('read');
  });

  it('refuses more values than the limit', () => {
    const numbers = (count: number) => `[${Array.from({ length: count }, () => '1').join(',')}]`;
    expect(refusalOf(numbers(10_000), noticeBounds)).to.equal('read');
    expect(refusalOf(numbers(10_001), noticeBounds)).to.equal('The body may hold at most 10000 values.');
    const objects = (count: number) => `[${Array.from({ length: count }, () => '{}').join(',')}]`;
    expect(refusalOf(objects(5_000), noticeBounds)).to.equal('read');
    expect(refusalOf(objects(5_001), noticeBounds)).to.equal('The body may hold at most 10000 values.');
    const keys = Object.fromEntries(Array.from({ length: 10_001 }, (_, index) => [`k${index}`, 1]));
    expect(refusalOf(JSON.stringify(keys), noticeBounds)).to.equal('The body may hold at most 10000 values.');
    expect(refusalOf(JSON.stringify([','.repeat(50_000)]), noticeBounds)).to.equal('read');
  });

  it('never quotes the input in an error', () => {
    expect(refusalOf('{"email":"ada@example.com",}')).to.equal('The body is not valid JSON.');
  });

  it('stops as soon as a limit is exceeded', () => {
    const sources = ['['.repeat(1_048_576), '{"a":'.repeat(200_000), `[${'[],'.repeat(349_000)}1]`].map(bytes);
    for (const source of sources) refusalOf(source);
    const startedAt = performance.now();
    for (const source of sources) refusalOf(source);
    expect((performance.now() - startedAt) / sources.length).to.be.below(20);
  });
});
