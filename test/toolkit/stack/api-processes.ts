/** Starts API processes that a test can kill, and a proxy to their file listeners. A test can make the proxy stall. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { startChild, type Child } from '../../../dev/stack/children.ts';
import { freePorts } from '../../../dev/stack/ports.ts';
import { scriptArguments } from '../../../dev/project.ts';
import { untilOk } from '../../../dev/stack/readiness.ts';
import { recordingArguments } from '../../statements/recording.ts';
import { testDatabase } from './database.ts';

const startTimeoutMs = 60_000;

interface ApiProcess {
  filesPort: number;
  kill(): Promise<void>;
}

/**
 * Call this function in a `describe`. Processes that still run after its tests are killed. @returns a function that starts a process and
 * waits until it is ready
 */
export function useApiProcesses(): (env: Readonly<Record<string, string>>) => Promise<ApiProcess> {
  const children: Child[] = [];
  let directory = '';
  before('a directory for logs', async () => {
    directory = await mkdtemp(path.join(os.tmpdir(), 'club-learning-api-'));
  });
  after('kill the API processes', async () => {
    await Promise.all(children.map(killed));
    await rm(directory, { recursive: true, force: true });
  });
  return async (env) => {
    await testDatabase();
    const { api, files } = await freePorts(['api', 'files']);
    const child = startChild({
      name: 'The API',
      command: process.execPath,
      args: [...recordingArguments, ...scriptArguments('api/server.ts')],
      env: {
        ...process.env,
        LOG_LEVEL: 'warn',
        API_PORT: String(api),
        API_METRICS_PORT: '0',
        FILES_PORT: String(files),
        ...env,
      },
      logFile: path.join(directory, `api-${children.length + 1}.log`),
    });
    children.push(child);
    await untilOk(`http://127.0.0.1:${files}/readyz`, { timeoutMs: startTimeoutMs, child });
    return { filesPort: files, kill: () => killed(child) };
  };
}

async function killed(child: Child): Promise<void> {
  if (child.pid === undefined) return;
  try {
    process.kill(child.pid, 'SIGKILL');
  } catch {
    return; // The process has ended already.
  }
  await child.exited;
}

interface Line {
  /** The address `http://127.0.0.1:<port>`, which replaces the address of a load balancer. */
  url: string;
  /** @param bytes the number of bytes before the proxy stalls */
  leadTo(port: number, bytes?: number): void;
  /** The number of bytes that the proxy forwarded since the last `leadTo`. */
  passed(): number;
  /**
   * Closes the connections between clients and the proxy. The connections to the API stay open until `hangUp` is called.
   */
  cut(): void;
  hangUp(): void;
}

/** Call this function in a `describe`. @returns the proxy, for use inside the tests */
export function useLine(): () => Line {
  let server: net.Server;
  let port = 0;
  let [target, room, passed] = [0, Number.POSITIVE_INFINITY, 0];
  const near = new Set<net.Socket>();
  const far = new Set<net.Socket>();
  before('a proxy that can stall', async () => {
    server = net.createServer((client) => {
      const upstream = net.connect(target, '127.0.0.1');
      near.add(client);
      far.add(upstream);
      client.on('data', (bytes) => {
        passed += bytes.length;
        if (!upstream.write(bytes)) {
          client.pause();
          upstream.once('drain', () => passed < room && client.resume());
        }
        if (passed >= room) client.pause();
      });
      upstream.on('data', (bytes) => client.destroyed || client.write(bytes));
      client.on('end', () => upstream.end());
      upstream.on('close', () => client.destroy());
      client.on('error', () => {});
      upstream.on('error', () => {});
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    ({ port } = server.address() as net.AddressInfo);
  });
  const hangUp = () => {
    for (const socket of far) socket.destroy();
    far.clear();
  };
  const cut = () => {
    for (const socket of near) socket.destroy();
    near.clear();
  };
  after('hang up', () => {
    cut();
    hangUp();
    server.close();
  });
  return () => ({
    url: `http://127.0.0.1:${port}`,
    leadTo(to, bytes = Number.POSITIVE_INFINITY) {
      [target, room, passed] = [to, bytes, 0];
    },
    passed: () => passed,
    cut,
    hangUp,
  });
}
