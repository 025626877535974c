import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';
import { expect } from 'chai';
import { makeAuthority, type Authority } from '../../../../dev/stack/certificates.ts';
import {
  connectionLimits,
  Connections,
  type ConnectionLimits,
  type OpenSocket,
} from '../../../../platform/infra/egress/connection-pool.ts';
import { createEgress, type Resolve } from '../../../../platform/infra/egress/egress.ts';
import { postWebhook, type AttemptAnswer } from '../../../../domain/webhooks/attempts/post.ts';
import { newSecret } from '../../../../domain/webhooks/endpoints/secrets.ts';
import { slots } from '../../../../worker/temporal/task-queues.ts';
import {
  respondWith,
  startReceiver,
  startTcpReceiver,
  type Receiver,
  type Respond,
} from '../../../toolkit/fakes/tls-receiver.ts';

const secrets = [newSecret()];
const ok = respondWith('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
/** Even a slow machine does not reach these idle limits during a test. */
const patient = { ...connectionLimits, idleMs: 60_000, ageMs: 60_000 };
const after = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('the pool of connections to receivers', () => {
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

  it('has enough connections for all attempts of a process', () => {
    const direct = 900; // The maximum of WEBHOOK_DIRECT_ATTEMPTS.
    const ofRuns = slots.webhooks.activities + slots.webhooks.workflowTasks;
    expect(connectionLimits.open).to.be.at.least(direct + ofRuns);
  });

  it('reuses one connection for consecutive deliveries to an endpoint', async () => {
    const receiver = await receiverThat(ok);
    const connections = connectionsWith();
    for (let round = 0; round < 5; round += 1) {
      const answer = await post(connections, receiver);
      expect(answer, `round ${round}`).to.include({ outcome: 'succeeded', responseExcerpt: 'ok' });
    }
    expect(receiver.connections()).to.equal(1);
  });

  for (const [keeps, limits, opened] of [
    ['all 64', {}, 64],
    ['at most 8 for each origin', { keptPerOrigin: 8 }, 64 + 56],
  ] as const)
    it(`opens one connection for each concurrent delivery, and keeps ${keeps}`, async () => {
      let waiting: (() => void)[] = [];
      const receiver = await receiverThat((socket) => {
        waiting.push(() => socket.write('HTTP/1.1 204 No Content\r\n\r\n'));
        if (waiting.length === 64) {
          for (const answer of waiting) answer();
          waiting = [];
        }
      });
      const connections = connectionsWith({ ...patient, ...limits });
      const round = async () => {
        const answers = await Promise.all(Array.from({ length: 64 }, () => post(connections, receiver)));
        expect(answers.every(({ outcome }) => outcome === 'succeeded')).to.equal(true);
      };
      await round();
      expect(receiver.connections()).to.equal(64);
      await round();
      expect(receiver.connections()).to.equal(opened);
    });

  it('reuses a connection only for requests to the same host name', async () => {
    const receiver = await receiverThat(ok);
    const resolve: Resolve = async () => ['127.0.0.1'];
    const egress = createEgress({ allowedNetworks: ['127.0.0.0/8'], extraCa: authority.certificate, resolve });
    running.unshift(egress);
    expect((await post(egress.dispatcher, receiver)).outcome).to.equal('succeeded');
    expect((await post(egress.dispatcher, receiver, 'another.test')).outcome).to.equal('tls_error');
    expect((await post(egress.dispatcher, receiver)).outcome).to.equal('succeeded');
    expect(receiver.connections()).to.equal(2);
  });

  it('does not reuse a connection that is too old or has an unread response', async () => {
    const receiver = await receiverThat(ok);
    const idle = connectionsWith({ idleMs: 100 });
    await post(idle, receiver);
    await after(300);
    await post(idle, receiver);
    expect(receiver.connections(), 'idle').to.equal(2);

    const old = connectionsWith({ ageMs: 1_000 });
    await post(old, receiver);
    await after(1_050);
    await post(old, receiver);
    expect(receiver.connections(), 'an old connection that was reused before the age limit').to.equal(3);
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

  it('closes a connection if the receiver’s headers require this', async () => {
    for (const header of ['connection: close', 'keep-alive: timeout=1']) {
      const receiver = await receiverThat(respondWith(`HTTP/1.1 200 OK\r\n${header}\r\ncontent-length: 0\r\n\r\n`));
      const connections = connectionsWith();
      await post(connections, receiver);
      await post(connections, receiver);
      expect(receiver.connections(), header).to.equal(2);
    }
  });

  it('closes a connection if the receiver sends a response without a request', async () => {
    const answer = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';
    const uninvited = 'HTTP/1.1 500 Oops\r\ncontent-length: 3\r\n\r\nbad';
    const receiver = await receiverThat((socket, _request, number) =>
      socket.write(number === 1 ? answer + uninvited : answer),
    );
    const connections = connectionsWith();
    for (const time of ['first', 'next']) {
      expect(await post(connections, receiver), time).to.include({ outcome: 'succeeded', responseExcerpt: 'ok' });
    }
    expect(receiver.connections()).to.equal(2);
  });

  it('repeats a request once if the receiver closes an idle connection when it is reused', async () => {
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

  it('repeats a failed request over a new connection, not over a second idle connection', async () => {
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

  it('repeats a request only once, and only without any response', async () => {
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

  it('opens a new connection if the idle connection has already ended', async () => {
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
    expect(receiver.requests, 'The request was not sent a second time.').to.have.length(2);
  });

  it('continues a request if the abort signal of an earlier, finished request fires', async () => {
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

  it('does not repeat a request that fails on a new connection', async () => {
    const receiver = await receiverThat((socket, _request, number) => {
      if (number === 1) socket.write('HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
      else socket.destroy();
    });
    const connections = connectionsWith();
    await post(connections, receiver);
    expect((await post(connections, receiver)).outcome).to.equal('connection_error');
    expect(receiver.requests).to.have.length(2);
  });

  it('closes an idle connection at the limit of open connections', async () => {
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
  });

  it('closes the oldest idle connection at the limit of idle connections', async () => {
    const receivers = [await receiverThat(ok), await receiverThat(ok), await receiverThat(ok)];
    const connections = connectionsWith({ kept: 2 });
    for (const receiver of [...receivers, ...receivers.toReversed()]) await post(connections, receiver);
    expect(receivers.map((receiver) => receiver.connections())).to.deep.equal([2, 1, 1]);
  });

  it('keeps at most 512 idle connections', async () => {
    const answer = 'HTTP/1.1 204 No Content\r\n\r\n';
    const receiver = await startTcpReceiver((socket) => socket.on('data', () => socket.write(answer)));
    running.push(receiver);
    const connections = new Connections(async () => {
      const socket = net.connect(receiver.port, '127.0.0.1');
      await once(socket, 'connect');
      return socket;
    }, patient);
    running.unshift(connections);
    const postTo = (host: string) =>
      postWebhook(connections, {
        url: `https://${host}.test/`,
        eventId: 'event',
        body: '{}',
        secrets,
        serviceName: '',
      });
    const all = Array.from({ length: 9 }, (_, host) => Array.from({ length: 57 }, () => `receiver${host}`)).flat();
    await postTo('first');
    expect(all).to.have.length(513);
    for (const round of ['made', 'kept']) {
      await Promise.all(all.slice(1).map(postTo));
      expect(receiver.connections(), round).to.equal(513);
    }
    await postTo('first');
    expect(receiver.connections(), 'closed').to.equal(514);
  });

  it('does not count an idle connection that has ended', async () => {
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

  it('finishes the running request when the pool is closed', async () => {
    const closing = Promise.withResolvers<void>();
    const receiver = await receiverThat((socket) => {
      socket.on('close', () => closing.resolve());
      setTimeout(() => socket.write('HTTP/1.1 204 No Content\r\n\r\n'), 100);
    });
    const connections = connectionsWith();
    const inFlight = post(connections, receiver);
    await after(50);
    await connections.close();
    expect((await inFlight).outcome).to.equal('succeeded');
    await closing.promise;
    await connections.close();
    const refused = await post(connections, receiver).catch((error: unknown) => error);
    expect(refused)
      .to.be.instanceOf(Error)
      .and.have.property('message', 'The connections to webhook receivers are closed.');
  });
});
