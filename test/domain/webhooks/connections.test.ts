import { once } from 'node:events';
import tls from 'node:tls';
import { expect } from 'chai';
import { makeAuthority, type Authority } from '../../../dev/certificates.ts';
import {
  connectionLimits,
  Connections,
  type ConnectionLimits,
  type OpenSocket,
} from '../../../domain/webhooks/connections.ts';
import { createEgress, type Resolve } from '../../../domain/webhooks/egress.ts';
import { postWebhook, type AttemptAnswer } from '../../../domain/webhooks/post.ts';
import { newSecret } from '../../../domain/webhooks/signature.ts';
import { respondWith, startReceiver, type Receiver, type Respond } from '../../toolkit/fakes/tls-receiver.ts';

const secrets = [newSecret()];
const ok = respondWith('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
const after = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('connections to receivers', () => {
  let authority: Authority;
  const running: ({ stop(): Promise<void> } | { close(): Promise<void> })[] = [];

  before(async () => {
    authority = await makeAuthority();
  });
  afterEach(async () => {
    for (const each of running.splice(0)) await ('stop' in each ? each.stop() : each.close());
  });

  const receiverThat = async (respond: Respond): Promise<Receiver> => {
    const receiver = await startReceiver(await authority.issue(['receiver.test']), respond);
    running.push(receiver);
    return receiver;
  };
  const connectionsWith = (limits: Partial<ConnectionLimits> = {}): Connections => {
    const open: OpenSocket = async (origin) => {
      const port = Number(new URL(origin).port);
      const socket = tls.connect({ port, host: '127.0.0.1', servername: 'receiver.test', ca: authority.certificate });
      await once(socket, 'secureConnect');
      return socket;
    };
    const connections = new Connections(open, { ...connectionLimits, ...limits });
    running.unshift(connections);
    return connections;
  };
  const post = (
    dispatcher: Connections | ReturnType<typeof createEgress>['dispatcher'],
    { port }: Receiver,
    host = 'receiver.test',
    signal?: AbortSignal,
  ): Promise<AttemptAnswer> =>
    postWebhook(dispatcher, {
      url: `https://${host}:${port}/`,
      eventId: 'event',
      body: '{}',
      secrets,
      serviceName: 'test',
      timeLimitMs: 2_000,
      ...(signal && { signal }),
    });

  it('an endpoint’s next delivery uses the connection that was kept', async () => {
    const receiver = await receiverThat(ok);
    const connections = connectionsWith();
    for (let round = 0; round < 5; round += 1) {
      expect(await post(connections, receiver)).to.include({ outcome: 'succeeded', responseExcerpt: 'ok' });
    }
    expect(receiver.connections()).to.equal(1);
  });

  it('no delivery waits behind another: each takes a connection of its own, and few are kept', async () => {
    let waiting: (() => void)[] = [];
    const receiver = await receiverThat((socket) => {
      waiting.push(() => socket.write('HTTP/1.1 204 No Content\r\n\r\n'));
      if (waiting.length === 20) {
        for (const answer of waiting) answer();
        waiting = [];
      }
    });
    const connections = connectionsWith();
    const round = async () => {
      const answers = await Promise.all(Array.from({ length: 20 }, () => post(connections, receiver)));
      expect(answers.every(({ outcome }) => outcome === 'succeeded')).to.equal(true);
    };
    await round();
    expect(receiver.connections()).to.equal(20);
    await after(50);
    await round();
    expect(receiver.connections()).to.equal(20 + 20 - connectionLimits.keptPerOrigin);
  });

  it('a connection is kept for a name, never for another one at the same address', async () => {
    const receiver = await receiverThat(ok);
    const resolve: Resolve = async () => ['127.0.0.1'];
    const egress = createEgress({ allowedNetworks: ['127.0.0.0/8'], extraCa: authority.certificate, resolve });
    running.unshift(egress);
    expect((await post(egress.dispatcher, receiver)).outcome).to.equal('succeeded');
    expect((await post(egress.dispatcher, receiver, 'another.test')).outcome).to.equal('tls_error');
    expect((await post(egress.dispatcher, receiver)).outcome).to.equal('succeeded');
    expect(receiver.connections()).to.equal(2);
  });

  it('a connection is not kept when idle for long, when old, or when the response was not read to its end', async () => {
    const receiver = await receiverThat(ok);
    const idle = connectionsWith({ idleMs: 100 });
    await post(idle, receiver);
    await after(300);
    await post(idle, receiver);
    expect(receiver.connections(), 'idle').to.equal(2);

    const old = connectionsWith({ ageMs: 100 });
    await post(old, receiver);
    await after(150);
    await post(old, receiver);
    expect(receiver.connections(), 'old, but kept before it was').to.equal(3);
    await post(old, receiver);
    expect(receiver.connections(), 'old').to.equal(4);

    const talkative = await receiverThat(
      respondWith(`HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n${'x'.repeat(9_999)}`),
    );
    const dropped = connectionsWith();
    await post(dropped, talkative);
    await post(dropped, talkative);
    expect(talkative.connections(), 'not read to its end').to.equal(2);
  });

  it('a receiver that says close, or a shorter patience, is heard', async () => {
    for (const header of ['connection: close', 'keep-alive: timeout=1']) {
      const receiver = await receiverThat(respondWith(`HTTP/1.1 200 OK\r\n${header}\r\ncontent-length: 0\r\n\r\n`));
      const connections = connectionsWith();
      await post(connections, receiver);
      await post(connections, receiver);
      expect(receiver.connections(), header).to.equal(2);
    }
  });

  it('a second answer that nobody asked for ends the connection: it is never taken for that of the next request', async () => {
    const answer = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';
    const uninvited = 'HTTP/1.1 500 Oops\r\ncontent-length: 3\r\n\r\nbad';
    const receiver = await receiverThat((socket, _request, number) =>
      socket.write(number === 1 ? answer + uninvited : answer),
    );
    const connections = connectionsWith();
    for (const _time of ['first', 'next']) {
      expect(await post(connections, receiver)).to.include({ outcome: 'succeeded', responseExcerpt: 'ok' });
    }
    expect(receiver.connections()).to.equal(2);
  });

  it('a kept connection that the receiver closes as it is used costs no attempt: the same request goes out once more', async () => {
    const receiver = await receiverThat((socket, request, number) => {
      if (number === 2) socket.destroy();
      else ok(socket, request, number);
    });
    const connections = connectionsWith();
    await post(connections, receiver);
    expect((await post(connections, receiver)).outcome).to.equal('succeeded');
    expect(receiver.connections()).to.equal(2);
    expect(receiver.requests).to.have.length(3);
    expect(receiver.requests[2]).to.deep.equal(receiver.requests[1]);
  });

  it('it goes out over a fresh connection, not over another kept one that may be as dead', async () => {
    const receiver = await receiverThat((socket, request, number) => {
      if (number <= 2 || receiver.connections() > 2) ok(socket, request, number);
      else socket.destroy();
    });
    const connections = connectionsWith();
    await Promise.all([post(connections, receiver), post(connections, receiver)]);
    expect(receiver.connections()).to.equal(2);
    expect((await post(connections, receiver)).outcome).to.equal('succeeded');
    expect(receiver.requests).to.have.length(4);
  });

  it('it goes out once more and no further, and not at all over a fresh connection, after the answer began, or after nonsense', async () => {
    const dead = await receiverThat((socket, request, number) => {
      if (number === 1) ok(socket, request, number);
      else socket.destroy();
    });
    const connections = connectionsWith();
    await post(connections, dead);
    expect((await post(connections, dead)).outcome).to.equal('connection_error');
    expect(dead.requests, 'once more').to.have.length(3);
    expect((await post(connections, dead)).outcome).to.equal('connection_error');
    expect(dead.requests, 'fresh').to.have.length(4);

    const half = await receiverThat((socket, request, number) => {
      if (number === 1) ok(socket, request, number);
      else socket.end('HTTP/1.1 103 Early Hints\r\n\r\n');
    });
    await post(connections, half);
    expect((await post(connections, half)).outcome).to.equal('connection_error');
    expect(half.requests, 'answer began').to.have.length(2);

    const nonsense = await receiverThat((socket, request, number) => {
      if (number === 1) ok(socket, request, number);
      else socket.write('nonsense');
    });
    await post(connections, nonsense);
    expect((await post(connections, nonsense)).outcome).to.equal('connection_error');
    expect(nonsense.requests, 'nonsense').to.have.length(2);
  });

  it('a connection that ended while it was kept is forgotten: the next one is fresh in every respect', async () => {
    const receiver = await receiverThat((socket, request, number) => {
      if (number > 1) socket.destroy();
      else {
        ok(socket, request, number);
        setTimeout(() => socket.destroy(), 20);
      }
    });
    const connections = connectionsWith();
    await post(connections, receiver);
    await after(100);
    expect((await post(connections, receiver)).outcome).to.equal('connection_error');
    expect(receiver.requests, 'not sent once more').to.have.length(2);
  });

  it('the end of one request’s signal is nothing to the next, though it takes the connection at once', async () => {
    const receiver = await receiverThat(
      respondWith('HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n'),
    );
    const egress = createEgress({
      allowedNetworks: ['127.0.0.0/8'],
      extraCa: authority.certificate,
      resolve: async () => ['127.0.0.1'],
    });
    running.unshift(egress);
    const stop = new AbortController();
    await post(egress.dispatcher, receiver, 'receiver.test', stop.signal);
    const next = post(egress.dispatcher, receiver);
    stop.abort();
    expect((await next).outcome).to.equal('succeeded');
  });

  it('a connection made anew in the place of one that is closing is a fresh one: nothing goes out twice over it', async () => {
    const receiver = await receiverThat((socket, _request, number) => {
      if (number === 1) socket.write('HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
      else socket.destroy();
    });
    const connections = connectionsWith();
    await post(connections, receiver);
    expect((await post(connections, receiver)).outcome).to.equal('connection_error');
    expect(receiver.requests).to.have.length(2);
  });

  it('as many connections as may be open: a kept one makes room, a busy one does not, and that is a fault of ours', async () => {
    const [first, second] = [await receiverThat(ok), await receiverThat(ok)];
    const hanging = await receiverThat(() => {});
    const connections = connectionsWith({ open: 2 });
    await post(connections, first);
    await post(connections, second);
    const busy = post(connections, hanging);
    expect((await post(connections, first)).outcome).to.equal('succeeded');
    expect(first.connections(), 'made room').to.equal(2);
    const alsoBusy = post(connections, hanging);
    const refused = await post(connections, second).catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(Error).and.have.property('message', '2 connections to receivers are open.');
    expect((await Promise.all([busy, alsoBusy])).map(({ outcome }) => outcome)).to.deep.equal(['timeout', 'timeout']);
    expect((await post(connections, second)).outcome).to.equal('succeeded');
  }).timeout(5_000);

  it('as many connections as may be kept: the oldest goes first', async () => {
    const receivers = [await receiverThat(ok), await receiverThat(ok), await receiverThat(ok)];
    const connections = connectionsWith({ kept: 2 });
    for (const receiver of [...receivers, ...receivers.toReversed()]) await post(connections, receiver);
    expect(receivers.map((receiver) => receiver.connections())).to.deep.equal([2, 1, 1]);
  });

  it('a connection that ended while it was kept takes no place from one that lives', async () => {
    const [alive, other] = [await receiverThat(ok), await receiverThat(ok)];
    const dead = await receiverThat((socket) => {
      socket.write('HTTP/1.1 204 No Content\r\n\r\n');
      setTimeout(() => socket.destroy(), 20);
    });
    const connections = connectionsWith({ kept: 2 });
    await post(connections, alive);
    await post(connections, dead);
    await after(100);
    await post(connections, other);
    await post(connections, alive);
    expect(alive.connections()).to.equal(1);
  });

  it('closing lets a request in flight end, leaves nothing open, and refuses the next', async () => {
    const gone = Promise.withResolvers<void>();
    const receiver = await receiverThat((socket) => {
      socket.on('close', () => gone.resolve());
      setTimeout(() => socket.write('HTTP/1.1 204 No Content\r\n\r\n'), 100);
    });
    const connections = connectionsWith();
    const inFlight = post(connections, receiver);
    await after(50);
    await connections.close();
    expect((await inFlight).outcome).to.equal('succeeded');
    await gone.promise;
    await connections.close();
    const refused = await post(connections, receiver).catch((error: unknown) => error);
    expect(refused)
      .to.be.instanceOf(Error)
      .and.have.property('message', 'The connections to webhook receivers are closed.');
  });
});
