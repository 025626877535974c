import { expect } from 'chai';
import { usePosting } from '../../../toolkit/drive/posting.ts';
import { withoutTimersOf } from '../../../toolkit/fakes/timers.ts';
import { flood, startTcpReceiver } from '../../../toolkit/fakes/tls-receiver.ts';

const nothing = 'content-length: 0\r\n\r\n';
const fine = `HTTP/1.1 200 OK\r\n${nothing}`;
const connectionError = (errorCode: string) => ({ outcome: 'connection_error', errorCode });

describe('a webhook attempt at a faulty receiver', () => {
  const { receiverThat, post, postTo, resultOf, tracked } = usePosting();

  describe('a broken connection', () => {
    it('is recorded as connection_error if no process listens on the port', async () => {
      const receiver = await startTcpReceiver(() => {});
      await receiver.stop();
      expect(await resultOf(receiver.port)).to.deep.equal(connectionError('ECONNREFUSED'));
    });

    it('is recorded as connection_error if it is reset, closed or ended before TLS', async () => {
      for (const end of ['resetAndDestroy', 'destroy', 'end'] as const) {
        const receiver = tracked(await startTcpReceiver((socket) => socket.once('data', () => socket[end]())));
        expect(await resultOf(receiver.port), end).to.deep.equal(connectionError('ECONNRESET'));
      }
    });

    for (const { where, start } of [
      { where: 'before the answer', start: '' },
      { where: 'within the status line', start: 'HTTP/1.1 20' },
      { where: 'within the headers', start: 'HTTP/1.1 200 OK\r\nx: y' },
      { where: 'before the end of the headers', start: 'HTTP/1.1 200 OK\r\nx: y\r\n' },
      { where: 'after an informational response', start: 'HTTP/1.1 103 Early Hints\r\n\r\n' },
    ]) {
      it(`is recorded as connection_error if it is closed ${where}`, async () => {
        const receiver = await receiverThat((socket) => socket.end(start));
        expect(await resultOf(receiver.port)).to.deep.equal(connectionError('UND_ERR_SOCKET'));
        expect(receiver.requests).to.have.length(1);
      });

      it(`is recorded as connection_error if it is reset ${where}`, async () => {
        const receiver = await receiverThat((socket) => {
          socket.write(start);
          setTimeout(() => receiver.reset(), 20);
        });
        expect(await resultOf(receiver.port)).to.deep.equal(connectionError('ECONNRESET'));
        expect(receiver.requests).to.have.length(1);
      });
    }

    it('is recorded without the receiver’s name and address', async () => {
      const receiver = await startTcpReceiver(() => {});
      await receiver.stop();
      expect(JSON.stringify(await post(receiver.port))).to.not.match(/127\.0|receiver/);
    });
  });

  describe('an invalid answer', () => {
    const nonsense: readonly (readonly [string, string | Buffer])[] = [
      ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n'],
      ['plain text', 'thank you\r\n'],
      ['bytes that are not text', Buffer.from([0, 1, 2, 0xff, 0xfe])],
      ['HTTP/2 without ALPN', Buffer.from('000012040000000000', 'hex')],
      ['an unknown HTTP version', `HTTP/3.0 200 OK\r\n${nothing}`],
      ['a status line without a status', `HTTP/1.1 OK\r\n${nothing}`],
      ['a status of letters', `HTTP/1.1 2OO OK\r\n${nothing}`],
      ['the status 20', `HTTP/1.1 20 OK\r\n${nothing}`],
      ['the status 99', `HTTP/1.1 99 X\r\n${nothing}`],
      ['the status 099', `HTTP/1.1 099 X\r\n${nothing}`],
      ['the status 000', `HTTP/1.1 000 X\r\n${nothing}`],
      ['the status 1000', `HTTP/1.1 1000 X\r\n${nothing}`],
      ['the status -200', `HTTP/1.1 -200 X\r\n${nothing}`],
      ['a header without a colon', `HTTP/1.1 200 OK\r\nno colon\r\n${nothing}`],
      ['a header with NUL', `HTTP/1.1 200 OK\r\nx: a\0b\r\n${nothing}`],
      ['a length below 0', 'HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n'],
    ];
    for (const [what, bytes] of nonsense) {
      it(`is a connection_error: ${what}`, async () =>
        expect(await postTo(bytes)).to.deep.equal(connectionError('HTTP_PARSER')));
    }

    for (const [what, lengths] of [
      ['two lengths', 'content-length: 2\r\ncontent-length: 3'],
      ['both a length and chunks', 'content-length: 2\r\ntransfer-encoding: chunked'],
      ['a length that is too large for a number', `content-length: ${'9'.repeat(23)}`],
    ]) {
      it(`is a connection_error if its headers state an ambiguous length: ${what}`, async () => {
        expect(await postTo(`HTTP/1.1 200 OK\r\n${lengths}\r\n\r\nok`)).to.deep.equal(
          connectionError('UND_ERR_RES_CONTENT_LENGTH_MISMATCH'),
        );
      });
    }

    it('does not disturb the next valid answer', async () => {
      expect(await postTo(fine)).to.deep.equal({ outcome: 'succeeded', responseStatus: 200 });
    });
  });

  describe('informational responses (1xx)', () => {
    const upgrade = 'HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n';
    const hint = 'HTTP/1.1 103 Early Hints\r\nlink: </x>; rel=preload\r\n\r\n';
    for (const [what, parts] of [
      ['100 Continue', ['HTTP/1.1 100 Continue\r\n\r\n', fine]],
      ['100 Continue in the same write as the answer', [`HTTP/1.1 100 Continue\r\n\r\n${fine}`]],
      ['100 with headers, LF line ends and no reason phrase', ['HTTP/1.0 100\nx: y\n\n', fine]],
      ['an upgrade that was not requested', [upgrade, fine]],
      ['102, and 99 hints', ['HTTP/1.1 102 Processing\r\n\r\n', hint.repeat(99), fine]],
      ['100 that arrives byte by byte', `HTTP/1.1 100 Continue\r\n\r\n${fine}`.split('')],
    ] as const) {
      it(`are skipped: ${what}`, async () => {
        const receiver = await receiverThat((socket) => {
          for (const [index, part] of parts.entries()) setTimeout(() => socket.write(part), 2 * index);
        });
        // The second attempt uses the kept-alive connection.
        for (const count of [1, 2]) {
          const { durationMs: _, ...answer } = await post(receiver.port);
          expect(answer).to.deep.equal({ outcome: 'succeeded', responseStatus: 200 });
          expect(receiver.requests).to.have.length(count);
        }
      });
    }

    it('cause a timeout if no final response follows', async () => {
      const receiver = await receiverThat((socket) => socket.write(upgrade));
      expect((await post(receiver.port, { timeLimitMs: 300 })).outcome).to.equal('timeout');
      expect(receiver.requests).to.have.length(1);
    });

    it('cause a connection_error if the final response is broken', async () => {
      const receiver = await receiverThat((socket, _, number) => {
        if (number === 1) socket.write(fine);
        else socket.end('HTTP/1.1 1000 X\r\n\r\n');
      });
      await post(receiver.port);
      expect(await resultOf(receiver.port)).to.deep.equal(connectionError('HTTP_PARSER'));
      expect(receiver.requests).to.have.length(2);
    });

    it('cause a connection_error immediately if they never end', async () => {
      const floods: { written: number }[] = [];
      const receiver = await receiverThat((socket) => {
        floods.push(flood(socket, Buffer.from('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(1_000))));
      });
      const answer = await withoutTimersOf(1_000, () => resultOf(receiver.port));
      expect(answer).to.deep.equal(connectionError('UND_ERR_HEADERS_OVERFLOW'));
      expect(receiver.requests).to.have.length(1);
      expect(floods[0]?.written).to.be.below(2 ** 23);
    });
  });

  describe('response headers', () => {
    for (const [what, headers] of [
      ['one long header', `x: ${'y'.repeat(100_000)}\r\n`],
      ['five thousand headers', 'x: yyyyyyyyyyyyyyyy\r\n'.repeat(5_000)],
      ['one long header name', `${'x'.repeat(100_000)}: y\r\n`],
    ] as const) {
      it(`cause a connection_error if they have 100 KB: ${what}`, async () => {
        expect(await postTo(`HTTP/1.1 200 OK\r\n${headers}${nothing}`)).to.deep.equal(
          connectionError('UND_ERR_HEADERS_OVERFLOW'),
        );
      });
    }

    it('are accepted if they have 60 KB', async () => {
      const answer = await postTo(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(60_000)}\r\n${nothing}`);
      expect(answer).to.deep.equal({ outcome: 'succeeded', responseStatus: 200 });
    });

    for (const [what, parts] of [
      ['a space', ['HTTP/1.1 200 OK\r\nx: a\r\n b\r\n', nothing]],
      ['a tab, and LF line ends', ['HTTP/1.1 200 OK\nx: a\n\tb\n', nothing]],
      ['a space in the next packet', ['HTTP/1.1 200 OK\r\nx: a\r', '\n', ' b\r\n', nothing]],
    ] as const) {
      it(`are accepted if they continue in the next line after ${what}`, async () => {
        expect(await postTo(...parts)).to.deep.equal({ outcome: 'succeeded', responseStatus: 200 });
      });
    }

    it('cause a connection_error after less than 8 MB if they never end', async () => {
      const floods: { written: number }[] = [];
      const receiver = await receiverThat((socket) => {
        socket.write('HTTP/1.1 200 OK\r\n');
        floods.push(flood(socket, Buffer.from('x: yyyyyyyyyyyyyyyy\r\n'.repeat(1_000))));
      });
      const answer = await withoutTimersOf(1_000, () => resultOf(receiver.port));
      expect(answer).to.deep.equal(connectionError('UND_ERR_HEADERS_OVERFLOW'));
      expect(floods[0]?.written).to.be.below(2 ** 23);
    });
  });
});
