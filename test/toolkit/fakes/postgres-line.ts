/**
 * A proxy to the Postgres of the test run. A test can make the proxy silent: it then accepts and keeps connections, but forwards no bytes.
 */
import { once } from 'node:events';
import net from 'node:net';
import { testStack } from '../stack/stack.ts';

export interface PostgresLine {
  /** For DATABASE_URL. */
  url: string;
  fallSilent(): void;
  /** Stops forwarding on open connections. New connections still work. */
  freezeOpen(): void;
  speakAgain(): void;
  stop(): void;
}

export async function startPostgresLine(): Promise<PostgresLine> {
  const { environment } = await testStack();
  const url = new URL(environment['DATABASE_URL'] ?? process.env['DATABASE_URL'] ?? '');
  const real = { port: Number(url.port), host: url.hostname };
  const pairs = new Set<readonly [net.Socket, net.Socket]>();
  let silent = false;

  const server = net.createServer((near) => {
    const far = net.connect(real);
    const pair = [near, far] as const;
    pairs.add(pair);
    if (!silent) near.pipe(far).pipe(near);
    const end = () => {
      pairs.delete(pair);
      near.destroy();
      far.destroy();
    };
    for (const socket of pair) socket.on('error', end).on('close', end);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as net.AddressInfo).port);

  return {
    url: url.href,
    fallSilent() {
      silent = true;
      for (const pair of pairs) for (const socket of pair) socket.unpipe().pause();
    },
    freezeOpen() {
      for (const pair of pairs) for (const socket of pair) socket.unpipe().pause();
    },
    speakAgain() {
      silent = false;
      for (const [near, far] of pairs) near.pipe(far).pipe(near);
    },
    stop() {
      for (const [near, far] of pairs) {
        near.destroy();
        far.destroy();
      }
      server.close();
    },
  };
}
