import { createEgress } from '../../../domain/webhooks/egress.ts';
import { postWebhook, type AttemptAnswer } from '../../../domain/webhooks/post.ts';
import { attempt, usePosting } from '../../toolkit/drive/posting.ts';
import { limitsSetBy } from '../../toolkit/fakes/timers.ts';
import { drip, flood, startDeafListener, startTcpReceiver } from '../../toolkit/fakes/tls-receiver.ts';
import { expect } from 'chai';

/** A TLS record as long as one may be, of which a receiver sends byte after byte. */
const serverHello = Buffer.from([0x16, 0x03, 0x03, 0x40, 0x00, 0x02, 0x00, 0x3f, 0xfc, 0x03, 0x03]);

/** Expects an attempt with a limit of 300 ms to end at it: no other limit is set, and nothing else ends it earlier. */
async function timesOut(posting: () => Promise<AttemptAnswer>): Promise<void> {
  const limits = await limitsSetBy(async () => {
    const { durationMs, ...answer } = await posting();
    expect(answer).to.deep.equal({ outcome: 'timeout' });
    expect(durationMs).to.be.at.least(295);
  });
  expect(limits).to.deep.equal([300]);
}

describe('each webhook attempt has a 15-second time limit', () => {
  const { dispatcher, receiverThat, post, tracked } = usePosting();
  const limited = async (port: number): Promise<void> => {
    await timesOut(() => post(port, { timeLimitMs: 300 }));
  };

  it('covers the name resolution', async () => {
    const silent = tracked(createEgress({ allowedNetworks: [], resolve: () => new Promise(() => {}) }));
    const waiting = setTimeout(() => {}, 5_000); // the limit alone does not keep a process running
    const url = 'https://receiver.test/';
    await timesOut(() => postWebhook(silent.dispatcher, { ...attempt, url, timeLimitMs: 300 }));
    clearTimeout(waiting);
  });

  it('covers a connection that nobody accepts', async () => {
    await limited(tracked(await startDeafListener()).port);
  });

  it('covers a TLS handshake that nobody answers', async () => {
    const closed = Promise.withResolvers<void>();
    const receiver = tracked(await startTcpReceiver((socket) => socket.resume().on('close', () => closed.resolve())));
    await limited(receiver.port);
    await closed.promise;
  });

  it('covers a TLS handshake that drips', async () => {
    const receiver = tracked(
      await startTcpReceiver((socket) => {
        socket.resume().write(serverHello);
        drip(socket, Buffer.alloc(1));
      }),
    );
    await limited(receiver.port);
  });

  it('covers headers that never come', async () => limited((await receiverThat(() => {})).port));

  it('covers headers that drip', async () => {
    const receiver = await receiverThat((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nx: ');
      drip(socket, 'y');
    });
    await limited(receiver.port);
  });

  it('covers informational responses that drip', async () => {
    await limited((await receiverThat((socket) => drip(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n'))).port);
  });

  it('covers an endless status line', async () => {
    const receiver = await receiverThat((socket) => {
      socket.write('HTTP/1.1 200 ');
      flood(socket, Buffer.alloc(65_536, 'x'));
    });
    const before = process.memoryUsage().rss;
    await limited(receiver.port);
    expect(process.memoryUsage().rss - before).to.be.below(2 ** 27);
  });

  it('is 15 s for headers, a body and a failure that drip one byte a second', async () => {
    const drips = (start: string) =>
      receiverThat((socket) => {
        socket.write(start);
        drip(socket, 'y', 1_000);
      });
    const receivers = await Promise.all([
      drips('HTTP/1.1 200 OK\r\nx: '),
      drips('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n'),
      drips('HTTP/1.1 500 Oops\r\n\r\n'),
    ]);
    const answers = await Promise.all(
      receivers.map(({ port }) => postWebhook(dispatcher(), { ...attempt, url: `https://receiver.test:${port}/` })),
    );
    const [headers, body, failure] = answers;
    expect(headers).to.have.all.keys('outcome', 'durationMs').and.to.include({ outcome: 'timeout' });
    expect(body).to.include({ outcome: 'succeeded', responseStatus: 200 });
    expect(failure).to.include({ outcome: 'http_error', responseStatus: 500 });
    expect(body?.responseExcerpt).to.match(/^y{10,15}$/);
    expect(failure?.responseExcerpt).to.match(/^y{10,15}$/);
    const durations = answers.map(({ durationMs }) => durationMs);
    expect(durations.filter((ms) => ms < 14_990 || ms > 17_000)).to.deep.equal([]);
  }).timeout(25_000);
});
