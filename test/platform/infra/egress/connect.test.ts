import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import { mock } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { connectRules, connectToFirst } from '../../../../platform/infra/egress/connect.ts';

const limit = () => AbortSignal.timeout(15_000);

/** Never answers: its process is stopped and its accept queue is full, so the kernel drops further requests. */
async function startSlowListener(): Promise<{ port: number; goOn(): void; stop(): void }> {
  const code = `require('net').createServer(() => {}).listen({ port: 0, host: '127.0.0.1', backlog: 1 }, function () { console.log(this.address().port); });`;
  const child: ChildProcess = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(child.stdout ?? child, 'data')) as [Buffer];
  const port = Number(line.toString());
  child.kill('SIGSTOP');
  const fillers: net.Socket[] = [];
  for (let isFull = false; !isFull;) {
    const filler = net.connect({ port, host: '127.0.0.1' }).on('error', () => undefined);
    fillers.push(filler);
    isFull = await Promise.race([once(filler, 'connect').then(() => false), sleep(300, true)]);
  }
  return {
    port,
    goOn: () => child.kill('SIGCONT'),
    stop() {
      for (const filler of fillers) filler.destroy();
      child.kill('SIGKILL');
    },
  };
}

async function codeOf(promise: Promise<net.Socket>): Promise<unknown> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return error instanceof Error && 'code' in error ? error.code : error;
}

describe('connecting to one of several addresses (RFC 8305)', () => {
  it('waits for a slow address after the others have refused', async () => {
    const slow = await startSlowListener();
    try {
      // 127.0.0.2 refuses, because no server listens there.
      const connecting = connectToFirst(['127.0.0.1', '127.0.0.2'], slow.port, limit());
      await sleep(connectRules.attemptDelayMs * 2);
      slow.goOn();
      const socket = await connecting;
      expect(socket.remoteAddress).to.equal('127.0.0.1');
      socket.destroy();
    } finally {
      slow.stop();
    }
  });

  it('tries the next address while a slow address has not answered', async () => {
    const slow = await startSlowListener();
    const quick = net.createServer((socket) => socket.destroy()).listen(slow.port, '127.0.0.2');
    await once(quick, 'listening');
    try {
      const socket = await connectToFirst(['127.0.0.1', '127.0.0.2'], slow.port, limit());
      expect(socket.remoteAddress).to.equal('127.0.0.2');
      socket.destroy();
    } finally {
      quick.close();
      slow.stop();
    }
  });

  it('ends all attempts when the abort signal fires', async () => {
    const slow = await startSlowListener();
    try {
      const over = new AbortController();
      const connecting = codeOf(connectToFirst(['127.0.0.1', '127.0.0.1'], slow.port, over.signal));
      await sleep(connectRules.attemptDelayMs * 2);
      over.abort('the attempt is over');
      expect(await connecting).to.equal('the attempt is over');
      expect(await codeOf(connectToFirst(['127.0.0.1'], slow.port, over.signal))).to.equal('the attempt is over');
    } finally {
      slow.stop();
    }
  });

  it('tries at most 16 addresses, and reports why they failed', async () => {
    const server = net.createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const refusing = Array.from({ length: connectRules.addresses - 1 }, (_, index) => `127.0.1.${index + 1}`);
    const socket = await connectToFirst([...refusing, '127.0.0.1'], port, limit());
    socket.destroy();
    expect(await codeOf(connectToFirst([...refusing, '127.0.1.99', '127.0.0.1'], port, limit()))).to.equal(
      'ECONNREFUSED',
    );
    server.close();
  });

  it('tries IPv4 and IPv6 addresses alternately', async () => {
    const tried: unknown[] = [];
    const connect = mock.method(net, 'connect', (options: net.TcpNetConnectOpts) => {
      tried.push(options.host);
      const socket = new net.Socket();
      const code = net.isIPv6(options.host ?? '') ? 'ENETUNREACH' : 'EHOSTUNREACH';
      setImmediate(() => socket.emit('error', Object.assign(new Error(code), { code })));
      return socket;
    });
    try {
      const addresses = ['2001:db8::1', '2001:db8::2', '192.0.2.1', '2001:db8::3'];
      expect(await codeOf(connectToFirst(addresses, 443, limit()))).to.equal('EHOSTUNREACH');
      expect(tried).to.deep.equal(['2001:db8::1', '192.0.2.1', '2001:db8::2', '2001:db8::3']);
    } finally {
      connect.mock.restore();
    }
  });
});
