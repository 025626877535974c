import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';
import type { Dispatcher } from 'undici';
import { postWebhook, type AttemptAnswer } from '../../../../domain/webhooks/attempts/post.ts';
import { newSecret } from '../../../../domain/webhooks/endpoints/secrets.ts';
import { attempt, noContent, usePosting } from '../../../toolkit/drive/posting.ts';
import { withoutTimersOf } from '../../../toolkit/fakes/timers.ts';

const { body, eventId } = attempt;
const [secret] = attempt.secrets;

describe('one webhook attempt', () => {
  const { receiverThat, post, postTo } = usePosting();

  describe('the request', () => {
    it('is a POST of the raw body with the headers of DEL-11 to DEL-13', async () => {
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

    it('can be verified with the current secret or the previous secret during a rotation', async () => {
      const receiver = await receiverThat(noContent);
      const previous = newSecret();
      await post(receiver.port, { secrets: [secret, previous] });
      const [request] = receiver.requests;
      for (const receiverSecret of [secret, previous]) {
        const verified = new Webhook(receiverSecret).verify(request?.body ?? '', request?.headers ?? {});
        expect(verified, receiverSecret === secret ? 'current secret' : 'previous secret').to.deep.equal(
          JSON.parse(body),
        );
      }
    });

    it('has the Unix second of the attempt as webhook-timestamp', async () => {
      const receiver = await receiverThat(noContent);
      await post(receiver.port, { wallClock: () => 1_900_000_000_999 });
      expect(receiver.requests[0]?.headers['webhook-timestamp']).to.equal('1900000000');
    });

    it('is sent without a server name to an IP address', async () => {
      const receiver = await receiverThat(noContent);
      const answer = await post(receiver.port, { url: `https://127.0.0.1:${receiver.port}/` });
      expect(answer.outcome).to.equal('succeeded');
      expect(receiver.serverNames).to.deep.equal([false]);
    });

    it('omits a trailing dot from the host name', async () => {
      const receiver = await receiverThat(noContent);
      const answer = await post(receiver.port, { url: `https://receiver.test.:${receiver.port}/` });
      expect(answer.outcome).to.equal('succeeded');
      expect(receiver.serverNames).to.deep.equal(['receiver.test']);
    });
  });

  describe('the status of the answer', () => {
    for (const status of [200, 201, 202, 204, 226, 299]) {
      it(`makes the attempt succeeded if it is ${status}`, async () => {
        const receiver = await receiverThat((socket) =>
          socket.write(`HTTP/1.1 ${status} Fine\r\ncontent-length: 0\r\n\r\n`),
        );
        const startedAt = performance.now();
        const { durationMs, ...result } = await post(receiver.port);
        expect(result).to.deep.equal({ outcome: 'succeeded', responseStatus: status });
        expect(durationMs).to.be.within(0, Math.ceil(performance.now() - startedAt));
      });
    }

    for (const status of [300, 304, 400, 401, 404, 409, 410, 418, 429, 500, 502, 503, 599, 600, 999]) {
      it(`makes the attempt an http_error if it is ${status}`, async () => {
        const answer = await postTo(`HTTP/1.1 ${status} No\r\ncontent-length: 4\r\n\r\nbody`);
        expect(answer).to.deep.equal({
          outcome: 'http_error',
          responseStatus: status,
          ...(status !== 304 && { responseExcerpt: 'body' }),
        });
      });
    }

    for (const status of [301, 302, 303, 307, 308]) {
      it(`makes the attempt an http_error without a redirect if it is ${status}`, async () => {
        const target = await receiverThat(noContent);
        const location = `location: https://127.0.0.1:${target.port}/\r\ncontent-length: 0`;
        const answer = await postTo(`HTTP/1.1 ${status} Moved\r\n${location}\r\n\r\n`);
        expect(answer).to.deep.equal({ outcome: 'http_error', responseStatus: status });
        expect(target.connections()).to.equal(0);
      });
    }

    it('is read from an answer in HTTP/1.0 or without a reason phrase', async () => {
      const old = await receiverThat((socket) => socket.end('HTTP/1.0 200 OK\r\n\r\nold but fine'));
      expect(await post(old.port)).to.include({ outcome: 'succeeded', responseExcerpt: 'old but fine' });
      expect(await postTo('HTTP/1.1 200\r\ncontent-length: 0\r\n\r\n')).to.deep.equal({
        outcome: 'succeeded',
        responseStatus: 200,
      });
    });
  });

  describe('Retry-After on 429 and 503', () => {
    const now = Date.UTC(2030, 0, 1);
    const cases: readonly (readonly [number, string, number | undefined])[] = [
      [429, 'retry-after: 120', 120],
      [503, 'Retry-After:   7  ', 7],
      [503, 'RETRY-AFTER:\t7\t', 7],
      [503, 'retry-after: 0', 0],
      [503, 'retry-after: 007', 7],
      [503, 'retry-after: Tue, 01 Jan 2030 00:01:00 GMT', 60],
      [429, 'retry-after: Tuesday, 01-Jan-30 00:01:00 GMT', 60],
      [429, 'retry-after: Tue Jan  1 00:01:00 2030', 60],
      [429, 'retry-after: Tue, 01 Jan 2030 23:00:00 GMT', 36_000],
      [429, 'retry-after: Mon, 31 Dec 2029 23:59:59 GMT', undefined],
      [429, 'retry-after: Tue, 01 Jan 2030 01:01:00 +0100', undefined],
      [429, 'retry-after: 2030-01-01T00:01:00Z', undefined],
      [429, 'retry-after: 99999', 36_000],
      [429, `retry-after: ${'9'.repeat(1_000)}`, 36_000],
      [429, 'retry-after: 5\r\nretry-after: 900', 5],
      [429, 'retry-after: 5, 900', undefined],
      [429, 'retry-after: -5', undefined],
      [429, 'retry-after: 1.5', undefined],
      [429, 'retry-after: 120 seconds', undefined],
      [429, 'retry-after: "120"', undefined],
      [429, 'retry-after: ١٢٠', undefined],
      [429, 'retry-after:', undefined],
      [429, 'retry-after: never', undefined],
      [429, 'x: y', undefined],
      [500, 'retry-after: 120', undefined],
      [302, 'retry-after: 120', undefined],
      [200, 'retry-after: 120', undefined],
    ];
    for (const [status, header, expected] of cases) {
      it(`is ${expected ?? 'ignored'} for ${status} with ${JSON.stringify(header).slice(0, 60)}`, async () => {
        const bytes = `HTTP/1.1 ${status} X\r\n${header}\r\ncontent-length: 0\r\n\r\n`;
        const receiver = await receiverThat((socket) => socket.write(bytes));
        const answer = await post(receiver.port, { wallClock: () => now });
        expect(answer).to.include({ responseStatus: status });
        expect(answer.retryAfterSeconds).to.equal(expected);
        expect('retryAfterSeconds' in answer).to.equal(expected !== undefined);
      });
    }
  });

  describe('errors of an attempt', () => {
    async function thrown(promise: Promise<unknown>): Promise<unknown> {
      return promise.then(
        (value) => expect.fail(`threw nothing, but returned ${JSON.stringify(value)}`),
        (error: unknown) => error,
      );
    }

    it('are thrown for a damaged secret, no secret and an invalid URL', async () => {
      expect(await thrown(post(1, { secrets: ['whsec_short'] }))).to.be.instanceOf(TypeError);
      expect(await thrown(post(1, { secrets: [] }))).to.be.instanceOf(TypeError);
      expect(await thrown(post(1, { url: 'no url' }))).to.be.instanceOf(TypeError);
    });

    it('are thrown for a header that cannot be sent', async () => {
      const receiver = await receiverThat(noContent);
      expect(await thrown(post(receiver.port, { eventId: 'a\r\nx: y' }))).to.include({ code: 'UND_ERR_INVALID_ARG' });
      expect(receiver.requests).to.have.length(0);
    });

    /** The network of a test cannot cause this error code. */
    const postThatEndsWith = (code: string): Promise<AttemptAnswer> => {
      const controller = { aborted: false, paused: false, reason: null, abort() {}, pause() {}, resume() {} };
      const dispatch = (_options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean => {
        handler.onResponseError?.(controller, Object.assign(new Error(code), { code }));
        return true;
      };
      return postWebhook({ dispatch }, { ...attempt, url: 'https://receiver.test/' });
    };

    it('are thrown if this process has no sockets left', async () => {
      expect(await thrown(postThatEndsWith('EMFILE'))).to.include({ code: 'EMFILE' });
    });

    it('are recorded if TLS reports an alert or the network is unreachable', async () => {
      expect((await postThatEndsWith('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED')).outcome).to.equal('tls_error');
      expect((await postThatEndsWith('ENETUNREACH')).outcome).to.equal('connection_error');
    });

    it('are thrown with the caller’s reason if the caller aborts', async () => {
      const closed = Promise.withResolvers<void>();
      const stop = new AbortController();
      const reason = Object.assign(new Error('shutting down'), { code: 'ECONNRESET' });
      const receiver = await receiverThat((socket) => {
        socket.on('close', () => closed.resolve());
        stop.abort(reason);
      });
      expect(await thrown(post(receiver.port, { signal: AbortSignal.abort(reason) }))).to.equal(reason);
      expect(receiver.connections()).to.equal(0);

      const stopped = () => thrown(post(receiver.port, { signal: stop.signal }));
      expect(await withoutTimersOf(1_000, stopped)).to.equal(reason);
      await closed.promise;
    });

    it('are not thrown if the caller aborts after the status has arrived', async () => {
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
