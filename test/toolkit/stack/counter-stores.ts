/** The stores for tests of the rate limits: the Postgres of the test run, a separate Redis, and a proxy through which a store can fail. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { readConfig } from '../../../config.ts';
import { Secret } from '../../../platform/core/secret.ts';
import { startChild } from '../../../dev/stack/children.ts';
import { components } from '../../../dev/components/catalogue.ts';
import { locate } from '../../../dev/components.ts';
import { untilPortAnswers } from '../../../dev/stack/readiness.ts';
import type { Budget } from '../../../api/rate-limits/rules.policy.ts';
import { testDatabase } from './database.ts';

export interface Store {
  readonly url: Secret;
  stop(): Promise<void>;
}

const redisStartTimeoutMs = 10_000;

export const masterKey = new Secret(Buffer.alloc(32, 7));

export function budget(limit: number, windowSeconds = 60): Budget {
  return { counter: `test_${randomBytes(6).toString('hex')}`, limit, windowSeconds, scope: 'ip' };
}

export async function migratedPostgres(): Promise<Store> {
  await testDatabase();
  return { url: readConfig().database.url, stop: () => Promise.resolve() };
}

/** A Redis on a free port that stores nothing on disk. */
export async function startRedis(): Promise<Store> {
  const command = await locate(components.redis);
  const port = await freePort();
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  const server = startChild({ name: 'Redis', command, args, logFile: undefined });
  await untilPortAnswers(port, { timeoutMs: redisStartTimeoutMs, child: server });
  return { url: new Secret(`redis://127.0.0.1:${port}`), stop: () => server.stop() };
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const port = portOf(server);
  server.close();
  await once(server, 'close');
  return port;
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server does not listen on a port.');
  return address.port;
}

/** A proxy to a store that a test can break. It accepts connections in every state. */
interface Line extends Store {
  readonly connections: number;
  /** `open` forwards all bytes. `silent` discards all bytes and never answers, on existing and new connections. */
  state: 'open' | 'silent';
}

export async function lineTo(url: Secret): Promise<Line> {
  const target = new URL(url.reveal());
  const sockets = new Set<Socket>();
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket));
  };
  const line: { state: Line['state']; connections: number } = { state: 'open', connections: 0 };
  const server = createServer((near) => {
    line.connections += 1;
    const far = createConnection(Number(target.port), target.hostname);
    keep(near);
    keep(far);
    near.on('data', (data) => line.state === 'open' && far.write(data)).on('close', () => far.destroy());
    far.on('data', (data) => line.state === 'open' && near.write(data)).on('close', () => near.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const near = new URL(target);
  near.port = String(portOf(server));
  return Object.assign(line, {
    url: new Secret(near.href),
    async stop() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  });
}
