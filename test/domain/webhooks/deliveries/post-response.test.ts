import { usePosting } from '../../../toolkit/drive/posting.ts';
import { limitsSetBy, withoutTimersOf } from '../../../toolkit/fakes/timers.ts';
import { drip, flood, type Respond } from '../../../toolkit/fakes/tls-receiver.ts';
import { expect } from 'chai';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';

const gigabyte = 2 ** 30;
/** At most this many unread bytes are in the buffers of a loopback connection. */
const unreadBytes = 2 ** 23;

const ok = (length: number) => `HTTP/1.1 200 OK\r\ncontent-length: ${length}\r\n\r\n`;
const chunked = (status = 200) => `HTTP/1.1 ${status} X\r\ntransfer-encoding: chunked\r\n\r\n`;

describe('the response to a webhook attempt', () => {
  const { receiverThat, post, postTo, resultOf } = usePosting();

  describe('the excerpt', () => {
    it('contains at most 2 KB', async () => {
      for (const [length, excerptLength] of [
        [2_047, 2_047],
        [2_048, 2_048],
        [2_049, 2_048],
        [100_000, 2_048],
      ] as const) {
        const { responseExcerpt } = await postTo(ok(length), 'x'.repeat(length));
        expect(responseExcerpt, `${length} bytes`).to.equal('x'.repeat(excerptLength));
      }
    });

    it('contains the body of a failed attempt, without the framing of chunks', async () => {
      const chunks = '6\r\nbroken\r\n5\r\n down\r\n0\r\n\r\n';
      const answer = await postTo(`${chunked(500)}${chunks}`);
      expect(answer).to.deep.equal({ outcome: 'http_error', responseStatus: 500, responseExcerpt: 'broken down' });
    });

    it('is a text without NUL for any bytes', async () => {
      const bytes = Buffer.from([0x61, 0x00, 0xff, 0xfe, 0x62, 0xed, 0xa0, 0x80, 0x63]);
      const { responseExcerpt } = await postTo(ok(bytes.length), bytes);
      expect(responseExcerpt).to.equal('a\uFFFD\uFFFD\uFFFDb\uFFFD\uFFFD\uFFFDc');
    });

    it('omits a character that crosses the limit', async () => {
      const { responseExcerpt } = await postTo(ok(4_001), `x${'é'.repeat(2_000)}`);
      expect(responseExcerpt).to.equal(`x${'é'.repeat(1_023)}`);
    });

    it('is at most 2 KB as text, even if each byte becomes a replacement character', async () => {
      const { responseExcerpt } = await postTo(ok(2_048), Buffer.alloc(2_048));
      expect(responseExcerpt).to.equal('\uFFFD'.repeat(682));
    });

    for (const [encoding, compress] of [
      ['gzip', gzipSync],
      ['deflate', deflateSync],
      ['br', brotliCompressSync],
      ['gzip, gzip', (bytes: Buffer) => gzipSync(gzipSync(bytes))],
    ] as const) {
      it(`is never decompressed: ${encoding}`, async () => {
        const packed = compress(Buffer.alloc(1_000_000, 'a'));
        const head = `HTTP/1.1 200 OK\r\ncontent-encoding: ${encoding}\r\ncontent-length: ${packed.length}\r\n\r\n`;
        const { responseExcerpt, ...answer } = await postTo(head, packed);
        expect(answer).to.deep.equal({ outcome: 'succeeded', responseStatus: 200 });
        // The first bytes of the compressed body, decoded as UTF-8.
        const text = new TextDecoder().decode(packed.subarray(0, 2_048), { stream: true }).replaceAll('\0', '\uFFFD');
        expect(text.startsWith(responseExcerpt ?? 'nothing')).to.equal(true);
        expect(Buffer.byteLength(responseExcerpt ?? '')).to.be.within(1, 2_048);
      });
    }
  });

  describe('a body of 1 GB', () => {
    const chunk = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(65_536, 'x'), Buffer.from('\r\n')]);
    for (const { how, head, bytes } of [
      { how: 'with its length', head: ok(gigabyte), bytes: Buffer.alloc(65_536, 'x') },
      { how: 'in endless chunks', head: chunked(), bytes: chunk },
      { how: 'until the connection ends', head: 'HTTP/1.1 200 OK\r\n\r\n', bytes: Buffer.alloc(65_536, 'x') },
      {
        how: 'declared as gzip',
        head: 'HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n',
        bytes: Buffer.alloc(65_536, 'x'),
      },
    ]) {
      it(`is read only up to 2 KB, with constant memory: ${how}`, async () => {
        const floods: { written: number }[] = [];
        const receiver = await receiverThat((socket) => {
          socket.write(head);
          floods.push(flood(socket, bytes));
        });
        const before = process.memoryUsage().rss;
        // No timer runs in this test, so the attempts end at 2 KB.
        const answers = await withoutTimersOf(1_000, () =>
          Promise.all(Array.from({ length: 10 }, () => resultOf(receiver.port))),
        );
        const answer = { outcome: 'succeeded', responseStatus: 200, responseExcerpt: 'x'.repeat(2_048) };
        expect(answers).to.deep.equal(Array.from({ length: 10 }, () => answer));
        expect(floods).to.have.length(10);
        expect(Math.max(...floods.map(({ written }) => written))).to.be.below(unreadBytes);
        expect(process.memoryUsage().rss - before).to.be.below(2 ** 27);
      });
    }
  });

  describe('the status of a response', () => {
    const writeThen =
      (head: string, rest: (socket: Parameters<Respond>[0]) => void): Respond =>
      (socket) => {
        socket.write(head);
        rest(socket);
      };
    const within = { timeLimitMs: 300 };

    for (const { what, respond, excerpt } of [
      { what: 'the body drips', respond: writeThen(ok(1_000), (socket) => drip(socket, 'x')), excerpt: /^x+$/ },
      {
        what: 'the body arrives slowly in endless chunks',
        respond: writeThen(chunked(), (socket) => drip(socket, '1\r\nx\r\n')),
        excerpt: /^x+$/,
      },
      { what: 'the body stalls', respond: writeThen(`${ok(1_000)}partial`, () => {}), excerpt: /^partial$/ },
      { what: 'the body never begins', respond: writeThen(ok(1_000), () => {}), excerpt: undefined },
      {
        what: 'the body has no length and the connection stays open',
        respond: writeThen('HTTP/1.1 200 OK\r\n\r\npartial', () => {}),
        excerpt: /^partial$/,
      },
      {
        what: 'the body contains a second status line',
        respond: writeThen(`${ok(1_000)}partial`, (socket) => socket.write('HTTP/1.1 500')),
        excerpt: /^partialHTTP\/1.1 500$/,
      },
    ]) {
      it(`decides the outcome at the time limit if ${what}`, async () => {
        const receiver = await receiverThat(respond);
        const limits = await limitsSetBy(async () => {
          const { durationMs, responseExcerpt, ...answer } = await post(receiver.port, within);
          expect(answer).to.deep.equal({ outcome: 'succeeded', responseStatus: 200 });
          if (excerpt) expect(responseExcerpt).to.match(excerpt);
          else expect(responseExcerpt).to.equal(undefined);
          expect(durationMs).to.be.at.least(295); // only the time limit ends the attempt
        });
        expect(limits).to.deep.equal([300]);
      });
    }

    for (const { what, end } of [
      { what: 'ended', end: 'destroy' },
      { what: 'reset', end: 'reset' },
    ] as const) {
      it(`decides the outcome immediately if the connection is ${what} during the body`, async () => {
        const receiver = await receiverThat(
          writeThen(`${ok(1_000)}partial`, (socket) => {
            setTimeout(() => (end === 'reset' ? receiver.reset() : socket.destroy()), 20);
          }),
        );
        const answer = await withoutTimersOf(1_000, () => resultOf(receiver.port));
        expect(answer).to.deep.equal({ outcome: 'succeeded', responseStatus: 200, responseExcerpt: 'partial' });
      });
    }

    for (const { what, rest } of [
      { what: 'a chunk with an invalid size', rest: 'zz\r\n' },
      { what: 'a chunk with a huge size', rest: `${'f'.repeat(17)}\r\n` },
      { what: '1 MB of trailers', rest: `0\r\n${`x: ${'y'.repeat(100)}\r\n`.repeat(10_000)}\r\n` },
      { what: 'a chunk extension of 1 MB', rest: `2;${'a'.repeat(1_000_000)}\r\nok\r\n0\r\n\r\n` },
    ]) {
      it(`decides the outcome when the body is followed by ${what}`, async () => {
        const receiver = await receiverThat(writeThen(chunked(), (socket) => socket.write(`5\r\nfirst\r\n${rest}`)));
        const answer = await resultOf(receiver.port, { timeLimitMs: 10_000 });
        expect(answer).to.include({ outcome: 'succeeded', responseStatus: 200 });
        expect(answer.responseExcerpt).to.match(/^first(ok)?$/);
      });
    }

    it('decides the outcome even if the status is 503 and the body never ends', async () => {
      const receiver = await receiverThat(writeThen(chunked(503), (socket) => drip(socket, '1\r\nx\r\n')));
      const { responseExcerpt, ...answer } = await resultOf(receiver.port, within);
      expect(answer).to.deep.equal({ outcome: 'http_error', responseStatus: 503 });
      expect(responseExcerpt).to.match(/^x+$/);
    });
  });
});
