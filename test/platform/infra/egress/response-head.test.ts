import { expect } from 'chai';
import fc from 'fast-check';
import { ResponseHead } from '../../../../platform/infra/egress/response-head.ts';

const rules = { interimResponses: 3, headBytes: 200 };

/** Returns what reaches the parser if the input arrives in pieces that end at `ends`. */
function parsed(bytes: string, ends: readonly number[] = [], head = new ResponseHead(rules)): string {
  head.begin();
  const cuts = [0, ...ends.map((end) => end % (bytes.length + 1)).toSorted((one, other) => one - other), bytes.length];
  const pieces = cuts.slice(1).map((cut, index) => Buffer.from(bytes.slice(cuts[index], cut), 'latin1'));
  return pieces.map((piece) => head.push(piece).toString('latin1')).join('');
}

const withReturns = (text: string) => text.replaceAll(/\r?\n/g, '\r\n');
const lineEnd = fc.constantFrom('\r\n', '\n');
const word = fc.stringMatching(/^[a-zA-Z0-9-]{1,12}$/);
const interim = fc
  .tuple(fc.integer({ min: 100, max: 199 }), lineEnd, fc.array(word, { maxLength: 2 }))
  .map(([status, end, names]) => `HTTP/1.1 ${status} X${end}${names.map((name) => `${name}: 1${end}`).join('')}${end}`);
const plainHead = fc
  .tuple(fc.integer({ min: 200, max: 999 }), lineEnd, fc.array(fc.tuple(word, word), { maxLength: 4 }))
  .map(([status, end, headers]) => ({
    text: `HTTP/1.1 ${status} X${end}${headers.map(([name, value]) => `${name}: ${value}${end}`).join('')}${end}`,
  }));
/** These bytes look like a head, but are inside a body. */
const body = fc.constantFrom('', 'ok', 'HTTP/1.1 100 Continue\r\n\r\n', 'a\r\n b\r\n\r\n', '\r\n\r\n\n', 'HTTP/1.1 1');
const cuts = fc.array(fc.nat({ max: 500 }), { maxLength: 12 });

describe('the response head that reaches the HTTP parser', () => {
  it('lacks only the informational (1xx) responses', () => {
    fc.assert(
      fc.property(fc.array(interim, { maxLength: 3 }), plainHead, body, cuts, (interims, { text }, rest, ends) => {
        expect(parsed(interims.join('') + text + rest, ends)).to.equal(withReturns(text) + rest);
      }),
    );
  });

  it('has each folded header on one line', () => {
    fc.assert(
      fc.property(lineEnd, fc.constantFrom(' ', '\t'), word, body, cuts, (end, blank, value, rest, ends) => {
        const head = `HTTP/1.1 200 OK${end}x: ${value}${end}${blank}${value}${end}y: z${end}${end}`;
        const mended = `HTTP/1.1 200 OK${end}x: ${value}${' '.repeat(end.length)}${blank}${value}${end}y: z${end}${end}`;
        expect(parsed(head + rest, ends)).to.equal(withReturns(mended) + rest);
      }),
    );
  });

  it('is filtered separately for each response on a connection', () => {
    const head = new ResponseHead(rules);
    for (let count = 0; count < 5; count++)
      expect(parsed('HTTP/1.1 100 X\r\n\r\nHTTP/1.1 204 X\r\n\r\n', [], head)).to.equal('HTTP/1.1 204 X\r\n\r\n');
  });

  it('reaches the parser unchanged if the bytes are not an HTTP response', () => {
    for (const bytes of ['SSH-2.0-OpenSSH', 'HTTP/2.0 100 X', 'HTTP/1.1 1000 X', 'HTTP/1.1 10', '\0\0\x12\x04'])
      expect(parsed(`${bytes}!`), bytes).to.equal(`${bytes}!`);
  });

  it('causes an error if it is too large or has too many interim responses', () => {
    const overflow = (bytes: string) => () => parsed(bytes);
    expect(overflow('HTTP/1.1 100 X\r\n\r\n'.repeat(4))).to.throw('Headers Overflow Error');
    expect(overflow(`HTTP/1.1 100 X\r\nx: ${'y'.repeat(200)}`)).to.throw('Headers Overflow Error');
  });
});
