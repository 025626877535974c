import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createEgress } from '../../../../platform/infra/egress/egress.ts';
import { postWebhook, type AttemptAnswer } from '../../../../domain/webhooks/attempts/post.ts';
import { attempt, usePosting } from '../../../toolkit/drive/posting.ts';
import { limitsSetBy } from '../../../toolkit/fakes/timers.ts';
import { drip, flood, startDeafListener, startTcpReceiver } from '../../../toolkit/fakes/tls-receiver.ts';
import { expect } from 'chai';

/** The beginning of the longest TLS record. A receiver sends the rest byte by byte. */
const serverHello = Buffer.from([0x16, 0x03, 0x03, 0x40, 0x00, 0x02, 0x00, 0x3f, 0xfc, 0x03, 0x03]);

/** Uses a limit of 300 ms, and expects no other timer. */
async function timesOut(posting: () => Promise<AttemptAnswer>, errorCode: string): Promise<void> {
  const limits = await limitsSetBy(async () => {
    const { durationMs, ...answer } = await posting();
    expect(answer).to.deep.equal({ outcome: 'timeout', errorCode });
    expect(durationMs).to.be.at.least(295);
  });
  expect(limits).to.deep.equal([300]);
}

/**
 * Measures by how many bytes `work` increases the memory in use. Uses the smallest measurement, because temporary buffers come and go.
 * `work` calls `begin` after phases with a short time limit, because a garbage collection can last more than 100 ms.
 */
async function memoryGrowthDuring(work: (begin: () => void) => Promise<void>): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const inUse = () => {
    collectGarbage();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  const before = inUse();
  const measurements: number[] = [];
  let timer: NodeJS.Timeout | undefined;
  const measure = () => {
    measurements.push(inUse());
    timer = setTimeout(measure, 25);
  };
  try {
    await work(() => setImmediate(measure));
  } finally {
    clearTimeout(timer);
  }
  const later = measurements.slice(Math.floor(measurements.length / 2));
  if (later.length === 0) throw new Error('No measurement of memory was taken.');
  return Math.min(...later) - before;
}

describe('the time limit of 15 s for a webhook attempt', () => {
  const { dispatcher, receiverThat, post, tracked } = usePosting();
  const limited = async (port: number, errorCode = 'RESPONSE_TIMEOUT'): Promise<void> => {
    await timesOut(() => post(port, { timeLimitMs: 300 }), errorCode);
  };

  it('covers the name resolution', async () => {
    const silent = tracked(createEgress({ allowedNetworks: [], resolve: () => new Promise(() => {}) }));
    const waiting = setTimeout(() => {}, 5_000); // keeps the test process running, because the timer of the time limit does not
    const url = 'https://receiver.test/';
    await timesOut(() => postWebhook(silent.dispatcher, { ...attempt, url, timeLimitMs: 300 }), 'CONNECT_TIMEOUT');
    clearTimeout(waiting);
  });

  it('covers a connection that the receiver does not accept', async () => {
    await limited(tracked(await startDeafListener()).port, 'CONNECT_TIMEOUT');
  });

  it('covers a TLS handshake that the receiver does not answer', async () => {
    const closed = Promise.withResolvers<void>();
    const receiver = tracked(await startTcpReceiver((socket) => socket.resume().on('close', () => closed.resolve())));
    await limited(receiver.port, 'CONNECT_TIMEOUT');
    await closed.promise;
  });

  it('covers a TLS handshake that the receiver sends byte by byte', async () => {
    const receiver = tracked(
      await startTcpReceiver((socket) => {
        socket.resume().write(serverHello);
        drip(socket, Buffer.alloc(1));
      }),
    );
    await limited(receiver.port, 'CONNECT_TIMEOUT');
  });

  it('covers headers that never arrive', async () => limited((await receiverThat(() => {})).port));

  it('covers headers that arrive byte by byte', async () => {
    const receiver = await receiverThat((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nx: ');
      drip(socket, 'y');
    });
    await limited(receiver.port);
  });

  it('covers an endless series of informational responses', async () => {
    await limited((await receiverThat((socket) => drip(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n'))).port);
  });

  it('covers an endless status line', async () => {
    const connected = Promise.withResolvers<void>();
    const receiver = await receiverThat((socket) => {
      socket.write('HTTP/1.1 200 ');
      flood(socket, Buffer.alloc(65_536, 'x'));
      connected.resolve();
    });
    const growth = await memoryGrowthDuring(async (begin) => {
      void connected.promise.then(begin);
      await limited(receiver.port);
    });
    expect(growth).to.be.below(2 ** 22);
  });

  it('records a timeout if the headers are slow, but the status if only the body is slow', async () => {
    const drips = (start: string) =>
      receiverThat((socket) => {
        socket.write(start);
        drip(socket, 'y');
      });
    const receivers = await Promise.all([
      drips('HTTP/1.1 200 OK\r\nx: '),
      drips('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n'),
      drips('HTTP/1.1 500 Oops\r\n\r\n'),
    ]);
    const [headers, body, failure] = await Promise.all(receivers.map(({ port }) => post(port, { timeLimitMs: 300 })));
    expect(headers).to.have.all.keys('outcome', 'errorCode', 'durationMs').and.to.include({ outcome: 'timeout' });
    expect(body).to.include({ outcome: 'succeeded', responseStatus: 200 });
    expect(failure).to.include({ outcome: 'http_error', responseStatus: 500 });
    expect([body?.responseExcerpt, failure?.responseExcerpt].join(' ')).to.match(/^y+ y+$/);
    expect(Math.min(...[headers, body, failure].map((answer) => answer?.durationMs ?? 0))).to.be.at.least(295);
  });

  it('is 15 s', async () => {
    const receiver = await receiverThat((socket) => socket.end('HTTP/1.1 204 No Content\r\n\r\n'));
    const url = `https://receiver.test:${receiver.port}/`;
    const limits = await limitsSetBy(() => postWebhook(dispatcher(), { ...attempt, url }));
    expect(limits).to.deep.equal([15_000]);
  });
});
