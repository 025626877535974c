import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';
import type { Dispatcher } from 'undici';
import { makeAuthority, type Authority, type Certificate } from '../../../dev/certificates.ts';
import { createEgress, type Egress } from '../../../domain/webhooks/egress.ts';
import { postWebhook, type AttemptAnswer, type WebhookPost } from '../../../domain/webhooks/post.ts';
import { newSecret } from '../../../domain/webhooks/signature.ts';
import {
  respondWith,
  selfSigned,
  startDeafListener,
  startReceiver,
  startTcpReceiver,
  type Receiver,
  type Respond,
} from '../../support/tls-receiver.ts';

const eventId = 'f3b1c1c2-0a39-4c41-9c54-5f2a40d4f3aa';
const body = JSON.stringify({ id: eventId, type: 'student.created', data: { name: 'Zoë 学生 🎓' } });
const noContent = respondWith('HTTP/1.1 204 No Content\r\n\r\n');

describe('one webhook attempt', () => {
  const secret = newSecret();
  let authority: Authority;
  let certificate: Certificate;
  let egress: Egress;
  const running: { close(): Promise<void> }[] = [];

  before(async () => {
    authority = await makeAuthority();
    certificate = await authority.issue(['receiver.test', '127.0.0.1']);
    egress = createEgress({
      allowedNetworks: ['127.0.0.0/8'],
      extraCa: authority.certificate,
      resolve: async () => ['127.0.0.1'],
    });
  });
  afterEach(async () => {
    for (const receiver of running.splice(0)) await receiver.close();
  });
  after(() => egress.close());

  const tracked = <T extends { close(): Promise<void> }>(receiver: T): T => {
    running.push(receiver);
    return receiver;
  };
  const receiverThat = async (respond: Respond, own = certificate, options = {}): Promise<Receiver> =>
    tracked(await startReceiver(own, respond, options));
  const post = (port: number, changes: Partial<WebhookPost> = {}): Promise<AttemptAnswer> =>
    postWebhook(egress.dispatcher, {
      url: `https://receiver.test:${port}/hook`,
      eventId,
      body,
      secrets: [secret],
      serviceName: 'club-learning',
      timeLimitMs: 2_000,
      ...changes,
    });
  /** Posts to a receiver that answers with these bytes. */
  const postTo = async (...answer: readonly (string | Buffer)[]): Promise<AttemptAnswer> =>
    post((await receiverThat(respondWith(...answer))).port);

  describe('the request', () => {
    it('is a POST of the raw body with the headers of the specification', async () => {
      const receiver = await receiverThat(noContent);
      await post(receiver.port, { url: `https://receiver.test:${receiver.port}/hook/%C3%A9?token=1&b=@` });
      const [request] = receiver.requests;
      expect(request?.line).to.equal('POST /hook/%C3%A9?token=1&b=@ HTTP/1.1');
      expect(request?.body.toString()).to.equal(body);
      expect(request?.headers).to.include({
        host: `receiver.test:${receiver.port}`,
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(body)),
        'user-agent': 'club-learning-webhooks/1',
        'accept-encoding': 'identity',
        'webhook-id': eventId,
      });
      expect(request?.headers).to.have.all.keys(
        'host',
        'connection',
        'content-type',
        'content-length',
        'user-agent',
        'accept-encoding',
        'webhook-id',
        'webhook-timestamp',
        'webhook-signature',
      );
      expect(receiver.serverNames).to.deep.equal(['receiver.test']);
    });

    it('verifies with the library of receivers, with either secret during a rotation', async () => {
      const receiver = await receiverThat(noContent);
      const previous = newSecret();
      await post(receiver.port, { secrets: [secret, previous] });
      const [request] = receiver.requests;
      for (const known of [secret, previous]) {
        expect(new Webhook(known).verify(request?.body ?? '', request?.headers ?? {})).to.deep.equal(JSON.parse(body));
      }
    });

    it('webhook-timestamp is the Unix second of the attempt', async () => {
      const receiver = await receiverThat(noContent);
      await post(receiver.port, { wallClock: () => 1_900_000_000_999 });
      expect(receiver.requests[0]?.headers['webhook-timestamp']).to.equal('1900000000');
    });

    it('a receiver may be an address with a certificate of its own, and is asked for no name', async () => {
      const receiver = await receiverThat(noContent);
      const answer = await post(receiver.port, { url: `https://127.0.0.1:${receiver.port}/` });
      expect(answer.outcome).to.equal('succeeded');
      expect(receiver.serverNames).to.deep.equal([false]);
    });

    it('a name with a trailing dot is the same name', async () => {
      const receiver = await receiverThat(noContent);
      const answer = await post(receiver.port, { url: `https://receiver.test.:${receiver.port}/` });
      expect(answer.outcome).to.equal('succeeded');
      expect(receiver.serverNames).to.deep.equal(['receiver.test']);
    });
  });

  describe('any 2xx is success, any response outside 2xx is a failure', () => {
    for (const status of [200, 201, 202, 204, 226, 299]) {
      it(`${status} succeeded`, async () => {
        const { durationMs, ...answer } = await postTo(`HTTP/1.1 ${status} Fine\r\ncontent-length: 0\r\n\r\n`);
        expect(answer).to.deep.equal({ outcome: 'succeeded', responseStatus: status });
        expect(durationMs).to.be.within(0, 2_000);
      });
    }

    for (const status of [300, 304, 400, 401, 404, 409, 410, 418, 429, 500, 502, 503, 599, 999]) {
      it(`${status} is an http_error`, async () => {
        const answer = await postTo(`HTTP/1.1 ${status} No\r\ncontent-length: 4\r\n\r\nbody`);
        expect(answer).to.include({ outcome: 'http_error', responseStatus: status });
      });
    }

    for (const status of [301, 302, 303, 307, 308]) {
      it(`${status} is not followed, to the loopback or anywhere`, async () => {
        const target = await receiverThat(noContent);
        const location = `location: https://127.0.0.1:${target.port}/\r\ncontent-length: 0`;
        const answer = await postTo(`HTTP/1.1 ${status} Moved\r\n${location}\r\n\r\n`);
        expect(answer).to.include({ outcome: 'http_error', responseStatus: status });
        expect(target.connections()).to.equal(0);
      });
    }

    it('informational responses before the answer are passed over', async () => {
      const answer = await postTo(
        'HTTP/1.1 102 Processing\r\n\r\n',
        'HTTP/1.1 103 Early Hints\r\nlink: </x>; rel=preload\r\n\r\n',
        'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok',
      );
      expect(answer).to.include({ outcome: 'succeeded', responseStatus: 200, responseExcerpt: 'ok' });
    });

    it('100 Continue that nobody asked for, and 101, break the exchange', async () => {
      for (const first of [
        'HTTP/1.1 100 Continue\r\n\r\n',
        'HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n',
      ]) {
        const { durationMs: _, ...answer } = await postTo(first);
        expect(answer).to.deep.equal({ outcome: 'connection_error', errorCode: 'UND_ERR_SOCKET' });
      }
    });

    it('HTTP/1.1 is asked for, whatever else the receiver speaks', async () => {
      const chosen: unknown[] = [];
      const respond: Respond = (socket) => {
        chosen.push(socket.alpnProtocol);
        socket.write('HTTP/1.1 204 No Content\r\n\r\n');
      };
      const both = await receiverThat(respond, certificate, { ALPNProtocols: ['h2', 'http/1.1'] });
      expect((await post(both.port)).outcome).to.equal('succeeded');
      expect(chosen).to.deep.equal(['http/1.1']);
      const other = await receiverThat(respond, certificate, { ALPNProtocols: ['h2'] });
      expect((await post(other.port)).outcome).to.equal('tls_error');
    });

    it('HTTP/1.0 is understood', async () => {
      const receiver = await receiverThat((socket) => socket.end('HTTP/1.0 200 OK\r\n\r\nold but fine'));
      expect(await post(receiver.port)).to.include({ outcome: 'succeeded', responseExcerpt: 'old but fine' });
    });
  });

  describe('the start of the response', () => {
    const ok = (length: number) => `HTTP/1.1 200 OK\r\ncontent-length: ${length}\r\n\r\n`;

    it('is kept up to 2 KB', async () => {
      for (const [length, kept] of [
        [2_047, 2_047],
        [2_048, 2_048],
        [2_049, 2_048],
        [100_000, 2_048],
      ] as const) {
        const { responseExcerpt } = await postTo(ok(length), 'x'.repeat(length));
        expect(responseExcerpt).to.equal('x'.repeat(kept));
      }
    });

    it('is kept of a failure too, and of a chunked body', async () => {
      const chunks = '6\r\nbroken\r\n5\r\n down\r\n0\r\n\r\n';
      const answer = await postTo(`HTTP/1.1 500 Oops\r\ntransfer-encoding: chunked\r\n\r\n${chunks}`);
      expect(answer).to.include({ outcome: 'http_error', responseStatus: 500, responseExcerpt: 'broken down' });
    });

    it('is text without NUL, whatever the bytes', async () => {
      const bytes = Buffer.from([0x61, 0x00, 0xff, 0xfe, 0x62, 0xed, 0xa0, 0x80, 0x63]);
      const { responseExcerpt } = await postTo(ok(bytes.length), bytes);
      expect(responseExcerpt).to.equal('a\uFFFD\uFFFD\uFFFDb\uFFFD\uFFFD\uFFFDc');
    });

    it('leaves out a character that the cut goes through', async () => {
      const { responseExcerpt } = await postTo(ok(4_001), `x${'é'.repeat(2_000)}`);
      expect(responseExcerpt).to.equal(`x${'é'.repeat(1_023)}`);
    });

    it('is at most 2 KB as text too, when every byte becomes a replacement character', async () => {
      const { responseExcerpt } = await postTo(ok(2_048), Buffer.alloc(2_048));
      expect(responseExcerpt).to.equal('\uFFFD'.repeat(682));
    });

    it('is never decompressed', async () => {
      const packed = gzipSync(Buffer.alloc(1_000_000, 'a'));
      const head = `HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${packed.length}\r\n\r\n`;
      const { outcome, responseExcerpt } = await postTo(head, packed);
      expect(outcome).to.equal('succeeded');
      expect(responseExcerpt?.startsWith('\u001F\uFFFD\b')).to.equal(true);
      expect(responseExcerpt).to.not.include('aaaa');
    });

    it('of a body of 1 GB is read and the rest dropped: memory stays flat', async () => {
      const chunk = Buffer.alloc(65_536, 'x');
      let sent = 0;
      const receiver = await receiverThat((socket) => {
        socket.write(ok(2 ** 30));
        const more = (): void => {
          while (!socket.destroyed && sent < 2 ** 30 && socket.write(chunk)) sent += chunk.length;
        };
        socket.on('drain', more);
        more();
      });
      const before = process.memoryUsage().rss;
      const answers = await Promise.all(Array.from({ length: 10 }, () => post(receiver.port)));
      expect(answers.map(({ outcome }) => outcome)).to.deep.equal(Array.from({ length: 10 }, () => 'succeeded'));
      expect(answers.every(({ durationMs }) => durationMs < 1_500)).to.equal(true);
      expect(sent).to.be.below(10 * 2 ** 23);
      expect(process.memoryUsage().rss - before).to.be.below(2 ** 27);
    }).timeout(10_000);

    it('does not decide: a 2xx whose body drips, stalls or breaks off has succeeded', async () => {
      const drips: Respond = (socket) => {
        socket.write(ok(1_000));
        const timer = setInterval(() => socket.write('x'), 20);
        socket.on('close', () => clearInterval(timer));
      };
      const breaks: Respond = (socket) => {
        socket.write(`${ok(1_000)}partial`);
        setTimeout(() => socket.destroy(), 20);
      };
      const lies = respondWith(`${ok(1_000)}partial`, 'HTTP/1.1 500');
      for (const respond of [drips, breaks, lies]) {
        const receiver = await receiverThat(respond);
        const answer = await post(receiver.port, { timeLimitMs: 300 });
        expect(answer).to.include({ outcome: 'succeeded', responseStatus: 200 });
        expect(answer.responseExcerpt).to.match(/^(x+|partial.*)$/s);
        expect(answer.durationMs).to.be.below(600);
      }
    });
  });

  describe('Retry-After is read on 429 and 503', () => {
    const now = Date.UTC(2030, 0, 1);
    const cases: readonly (readonly [number, string, number | undefined])[] = [
      [429, 'retry-after: 120', 120],
      [503, 'Retry-After:   7  ', 7],
      [503, 'retry-after: Tue, 01 Jan 2030 00:01:00 GMT', 60],
      [429, 'retry-after: 99999', 36_000],
      [429, 'retry-after: 5\r\nretry-after: 900', 5],
      [429, 'retry-after: never', undefined],
      [429, 'x: y', undefined],
      [500, 'retry-after: 120', undefined],
      [200, 'retry-after: 120', undefined],
    ];
    for (const [status, header, expected] of cases) {
      it(`${status} with ${JSON.stringify(header)}: ${expected ?? 'nothing'}`, async () => {
        const receiver = await receiverThat(
          respondWith(`HTTP/1.1 ${status} X\r\n${header}\r\ncontent-length: 0\r\n\r\n`),
        );
        const answer = await post(receiver.port, { wallClock: () => now });
        expect(answer.retryAfterSeconds).to.equal(expected);
        expect('retryAfterSeconds' in answer).to.equal(expected !== undefined);
      });
    }
  });

  describe('each attempt has a 15-second time limit', () => {
    const limited = async (port: number): Promise<void> => {
      const { durationMs, ...answer } = await post(port, { timeLimitMs: 300 });
      expect(answer).to.deep.equal({ outcome: 'timeout' });
      expect(durationMs).to.be.within(295, 500);
    };

    it('over the name look-up', async () => {
      const silent = tracked(createEgress({ allowedNetworks: [], resolve: () => new Promise(() => {}) }));
      const waiting = setTimeout(() => {}, 1_000);
      const { durationMs, ...answer } = await postWebhook(silent.dispatcher, {
        url: 'https://receiver.test/',
        eventId,
        body,
        secrets: [secret],
        serviceName: 'test',
        timeLimitMs: 300,
      });
      clearTimeout(waiting);
      expect(answer).to.deep.equal({ outcome: 'timeout' });
      expect(durationMs).to.be.within(295, 500);
    });

    it('over a connection that nobody takes', async () => {
      await limited(tracked(await startDeafListener()).port);
    });

    it('over a TLS handshake that nobody answers', async () => {
      const closed = Promise.withResolvers<void>();
      const receiver = tracked(await startTcpReceiver((socket) => socket.resume().on('close', () => closed.resolve())));
      await limited(receiver.port);
      await closed.promise;
    });

    it('over headers that never come', async () => limited((await receiverThat(() => {})).port));

    it('over headers that drip', async () => {
      const receiver = await receiverThat((socket) => {
        socket.write('HTTP/1.1 200 OK\r\nx: ');
        const timer = setInterval(() => socket.write('y'), 20);
        socket.on('close', () => clearInterval(timer));
      });
      await limited(receiver.port);
    });

    it('over informational responses without end', async () => {
      const receiver = await receiverThat((socket) => {
        const timer = setInterval(() => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'), 10);
        socket.on('close', () => clearInterval(timer));
      });
      await limited(receiver.port);
    });

    it('and leaves no connection behind', async () => {
      const closed = Promise.withResolvers<void>();
      const receiver = await receiverThat((socket) => socket.on('close', () => closed.resolve()));
      await limited(receiver.port);
      await closed.promise;
    });

    it('15 seconds in truth: a receiver that drips a byte a second is given up then, not earlier, not later', async () => {
      const receiver = await receiverThat((socket) => {
        socket.write('HTTP/1.1 200 OK\r\nx: ');
        const timer = setInterval(() => socket.write('y'), 1_000);
        socket.on('close', () => clearInterval(timer));
      });
      const { durationMs, ...answer } = await postWebhook(egress.dispatcher, {
        url: `https://receiver.test:${receiver.port}/`,
        eventId,
        body,
        secrets: [secret],
        serviceName: 'test',
      });
      expect(answer).to.deep.equal({ outcome: 'timeout' });
      expect(durationMs).to.be.within(14_995, 15_500);
    }).timeout(20_000);
  });

  describe('a certificate that does not prove the receiver is a tls_error', () => {
    const cases: readonly (readonly [string, () => Promise<Certificate>, string])[] = [
      ['expired', () => authority.issue(['receiver.test'], { expired: true }), 'CERT_HAS_EXPIRED'],
      ['self-signed', () => selfSigned('receiver.test'), 'DEPTH_ZERO_SELF_SIGNED_CERT'],
      ['for another name', () => authority.issue(['another.test']), 'ERR_TLS_CERT_ALTNAME_INVALID'],
      ['for a name below it', () => authority.issue(['*.receiver.test']), 'ERR_TLS_CERT_ALTNAME_INVALID'],
      ['of an authority that nobody trusts', async () => (await makeAuthority()).issue(['receiver.test']), 'ANY'],
    ];
    for (const [what, make, code] of cases) {
      it(what, async () => {
        const receiver = await receiverThat(noContent, await make());
        const { durationMs: _, errorCode, ...answer } = await post(receiver.port);
        expect(answer).to.deep.equal({ outcome: 'tls_error' });
        if (code === 'ANY') expect(errorCode).to.match(/^(UNABLE_TO|CERT_|SELF_SIGNED)/);
        else expect(errorCode).to.equal(code);
        expect(receiver.requests).to.have.length(0);
      });
    }

    it('an address is no name: a certificate for the name does not prove the address', async () => {
      const receiver = await receiverThat(noContent, await authority.issue(['receiver.test']));
      const answer = await post(receiver.port, { url: `https://127.0.0.1:${receiver.port}/` });
      expect(answer).to.include({ outcome: 'tls_error', errorCode: 'ERR_TLS_CERT_ALTNAME_INVALID' });
    });

    it('without the extra authority of the configuration a local one is not trusted', async () => {
      const receiver = await receiverThat(noContent);
      const strict = tracked(createEgress({ allowedNetworks: ['127.0.0.0/8'], resolve: async () => ['127.0.0.1'] }));
      const answer = await postWebhook(strict.dispatcher, {
        url: `https://receiver.test:${receiver.port}/`,
        eventId,
        body,
        secrets: [secret],
        serviceName: 'test',
      });
      expect(answer.outcome).to.equal('tls_error');
      expect(receiver.requests).to.have.length(0);
    });

    it('so are a receiver that speaks plain HTTP, one of TLS 1.1, and one that wants a certificate of ours', async () => {
      const plain = tracked(
        await startTcpReceiver((socket) => socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))),
      );
      expect((await post(plain.port)).outcome).to.equal('tls_error');
      const old = await receiverThat(noContent, certificate, {
        minVersion: 'TLSv1',
        maxVersion: 'TLSv1.1',
        ciphers: 'DEFAULT@SECLEVEL=0',
      });
      expect((await post(old.port)).outcome).to.equal('tls_error');
      const mutual = await receiverThat(noContent, certificate, {
        requestCert: true,
        rejectUnauthorized: true,
        maxVersion: 'TLSv1.2',
      });
      expect((await post(mutual.port)).outcome).to.equal('tls_error');
    });
  });

  describe('a connection that is refused or breaks is a connection_error', () => {
    it('nobody listens', async () => {
      const receiver = await startTcpReceiver(() => {});
      await receiver.close();
      expect(await post(receiver.port)).to.include({ outcome: 'connection_error', errorCode: 'ECONNREFUSED' });
    });

    it('reset or closed before TLS', async () => {
      for (const end of ['resetAndDestroy', 'destroy'] as const) {
        const receiver = tracked(await startTcpReceiver((socket) => socket.once('data', () => socket[end]())));
        expect(await post(receiver.port)).to.include({ outcome: 'connection_error', errorCode: 'ECONNRESET' });
      }
    });

    it('closed before the answer, or in the middle of its headers', async () => {
      for (const start of ['', 'HTTP/1.1 200 OK\r\nx: y']) {
        const receiver = await receiverThat((socket) => socket.end(start));
        const { durationMs: _, ...answer } = await post(receiver.port);
        expect(answer).to.deep.equal({ outcome: 'connection_error', errorCode: 'UND_ERR_SOCKET' });
        expect(receiver.requests).to.have.length(1);
      }
    });

    it('an answer that is no HTTP', async () => {
      for (const nonsense of [
        'SSH-2.0-OpenSSH_9.6\r\n',
        'HTTP/1.1 abc\r\n\r\n',
        'HTTP/1.1 200 OK\r\nno colon\r\n\r\n',
      ]) {
        const answer = await postTo(nonsense);
        expect(answer.outcome, nonsense).to.equal('connection_error');
        expect(answer.errorCode, nonsense).to.equal('HTTP_PARSER');
      }
    });

    it('100 KB of headers', async () => {
      for (const headers of [`x: ${'y'.repeat(100_000)}\r\n`, 'x: yyyyyyyyyyyyyyyy\r\n'.repeat(5_000)]) {
        const answer = await postTo(`HTTP/1.1 200 OK\r\n${headers}content-length: 0\r\n\r\n`);
        expect(answer).to.include({ outcome: 'connection_error', errorCode: 'UND_ERR_HEADERS_OVERFLOW' });
      }
    });

    it('holds no name and no address', async () => {
      const receiver = await startTcpReceiver(() => {});
      await receiver.close();
      expect(JSON.stringify(await post(receiver.port))).to.not.match(/127\.0|receiver/);
    });
  });

  describe('only faults of ours are thrown', () => {
    async function thrown(promise: Promise<unknown>): Promise<unknown> {
      return promise.then(
        (value) => expect.fail(`threw nothing, but gave ${JSON.stringify(value)}`),
        (error: unknown) => error,
      );
    }

    it('a damaged secret, no secret, a url that is none', async () => {
      expect(await thrown(post(1, { secrets: ['whsec_short'] }))).to.be.instanceOf(TypeError);
      expect(await thrown(post(1, { secrets: [] }))).to.be.instanceOf(TypeError);
      expect(await thrown(post(1, { url: 'no url' }))).to.be.instanceOf(TypeError);
    });

    it('a header that cannot be sent', async () => {
      const receiver = await receiverThat(noContent);
      expect(await thrown(post(receiver.port, { eventId: 'a\r\nx: y' }))).to.include({ code: 'UND_ERR_INVALID_ARG' });
      expect(receiver.requests).to.have.length(0);
    });

    /** What the network of this machine cannot be made to do: a request that ends with a given code. */
    const postThatEndsWith = (code: string): Promise<AttemptAnswer> => {
      const controller = { aborted: false, paused: false, reason: null, abort() {}, pause() {}, resume() {} };
      const dispatch = (_options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean => {
        handler.onResponseError?.(controller, Object.assign(new Error(code), { code }));
        return true;
      };
      const attempt = { url: 'https://receiver.test/', eventId, body, secrets: [secret], serviceName: 'test' };
      return postWebhook({ dispatch }, attempt);
    };

    it('no sockets left in this process', async () => {
      expect(await thrown(postThatEndsWith('EMFILE'))).to.include({ code: 'EMFILE' });
    });

    it('but a TLS alert after the handshake is the receiver’s, and so is a network that cannot be reached', async () => {
      expect((await postThatEndsWith('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED')).outcome).to.equal('tls_error');
      expect((await postThatEndsWith('ENETUNREACH')).outcome).to.equal('connection_error');
    });

    it('the caller’s own reason to stop, at once, before and during the attempt', async () => {
      const closed = Promise.withResolvers<void>();
      const receiver = await receiverThat((socket) => socket.on('close', () => closed.resolve()));
      const reason = Object.assign(new Error('shutting down'), { code: 'ECONNRESET' });
      expect(await thrown(post(receiver.port, { signal: AbortSignal.abort(reason) }))).to.equal(reason);
      expect(receiver.connections()).to.equal(0);

      const stop = new AbortController();
      setTimeout(() => stop.abort(reason), 50);
      const startedAt = performance.now();
      expect(await thrown(post(receiver.port, { signal: stop.signal }))).to.equal(reason);
      expect(performance.now() - startedAt).to.be.below(300);
      await closed.promise;
    });

    it('but an answer whose status has arrived is told, though the caller stops', async () => {
      const stop = new AbortController();
      const receiver = await receiverThat((socket) => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf');
        setTimeout(() => stop.abort(new Error('shutting down')), 50);
      });
      const answer = await post(receiver.port, { signal: stop.signal });
      expect(answer).to.include({ outcome: 'succeeded', responseStatus: 200, responseExcerpt: 'half' });
    });
  });
});
