/** The ports of the development stack, and the message for a port in use. */
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Environment } from '../../config.ts';
import { Problem } from '../problem.ts';

/** Other machines cannot reach this address. */
export const host = '127.0.0.1';

/**
 * Every fixed port, with its purpose and the variable that changes it. The ports are low, so the system never gives one to an outgoing
 * connection.
 */
export const fixedPorts = {
  postgres: { variable: 'POSTGRES_PORT', port: 15_432, purpose: 'Postgres' },
  temporal: { variable: 'TEMPORAL_PORT', port: 7233, purpose: 'the Temporal server' },
  temporalUi: { variable: 'TEMPORAL_UI_PORT', port: 8233, purpose: 'the Temporal UI' },
  storage: { variable: 'S3_PORT', port: 7070, purpose: 'the S3 server' },
  smtp: { variable: 'SMTP_PORT', port: 1025, purpose: 'the mailbox, for SMTP' },
  mailbox: { variable: 'MAILBOX_PORT', port: 8025, purpose: 'the mailbox, for browsers' },
  api: { variable: 'API_PORT', port: 8080, purpose: 'the API' },
  worker: { variable: 'WORKER_PORT', port: 8081, purpose: 'the worker' },
  files: { variable: 'FILES_PORT', port: 8083, purpose: 'the API, for uploads of videos' },
  apiMetrics: { variable: 'API_METRICS_PORT', port: 8084, purpose: 'the metrics of the API' },
  fakeModel: { variable: 'FAKE_MODEL_PORT', port: 8082, purpose: 'the fake model' },
} as const;

export type PortName = keyof typeof fixedPorts;

/**
 * Takes the port of each name from the environment, or else the fixed port.
 * @throws Problem if a variable has no valid port, or if two names have the same port
 */
export function portsFromEnvironment<N extends PortName>(names: readonly N[], env: Environment): Record<N, number> {
  const ports = new Map<N, number>();
  for (const name of names) {
    const { variable, port: usual } = fixedPorts[name];
    const port = Number(env[variable] || usual);
    if (!Number.isInteger(port) || port < 1 || port > 65_535) {
      throw new Problem(`${variable} must be a port: a whole number from 1 to 65535.`);
    }
    const other = [...ports].find(([, usedPort]) => usedPort === port)?.[0];
    if (other)
      throw new Problem(`${variable} and ${fixedPorts[other].variable} are both ${port}: choose different ports.`);
    ports.set(name, port);
  }
  return Object.fromEntries(ports) as Record<N, number>;
}

/** Keeps all ports bound until the last port is found, so that all ports differ. */
export async function freePorts<N extends string>(names: readonly N[]): Promise<Record<N, number>> {
  const servers = await Promise.all(names.map(async (name) => ({ name, server: await listen(0) })));
  const ports = servers.map(({ name, server }) => [name, (server.address() as net.AddressInfo).port] as const);
  await Promise.all(servers.map(({ server }) => close(server)));
  return Object.fromEntries(ports) as Record<N, number>;
}

/** Linux gives higher ports to outgoing connections. */
const quietRange = { from: 20_000, count: 10_000 };

/** Finds consecutive free ports for servers that are killed and restarted. No outgoing connection takes such a port in between. */
export async function quietPorts<N extends string>(names: readonly N[]): Promise<Record<N, number>> {
  for (;;) {
    const first = quietRange.from + Math.floor(Math.random() * (quietRange.count - names.length));
    const ports = names.map((name, index) => [name, first + index] as const);
    const free = await Promise.all(ports.map(([, port]) => isFree(port)));
    if (free.every(Boolean)) return Object.fromEntries(ports) as Record<N, number>;
  }
}

/**
 * @param patienceMs the time in which the processes of a killed run may still end
 * @throws Problem when a port is in use; a line for each port names its purpose and its variable
 */
export async function ensurePortsAreFree(ports: Partial<Record<PortName, number>>, patienceMs = 0): Promise<void> {
  const requestedPorts = Object.entries(ports) as [PortName, number][];
  const deadline = Date.now() + patienceMs;
  for (;;) {
    const busyFlags = await Promise.all(requestedPorts.map(async ([, port]) => !(await isFree(port))));
    const busy = requestedPorts.filter((_, index) => busyFlags[index]);
    if (busy.length === 0) return;
    if (Date.now() < deadline) {
      await sleep(200);
      continue;
    }
    throw new Problem(
      [
        ...busy.map(([name, port]) => {
          const { variable, purpose } = fixedPorts[name];
          return `Port ${port} on ${host} is in use: ${purpose} needs it. Choose another port: ${variable}=<port> npm start`;
        }),
        `Find its process: lsof -nP -iTCP:${busy[0]?.[1]} -sTCP:LISTEN`,
      ].join('\n'),
    );
  }
}

async function isFree(port: number): Promise<boolean> {
  // First tries to connect: some systems let us listen on 127.0.0.1 while another process listens on every address.
  if (await accepts(port)) return false;
  try {
    await close(await listen(port));
    return true;
  } catch {
    return false;
  }
}

function listen(port: number): Promise<net.Server> {
  return new Promise((resolve, reject) => {
    const server = net.createServer();
    server.once('error', reject);
    server.listen({ port, host, exclusive: true }, () => resolve(server));
  });
}

function close(server: net.Server): Promise<void> {
  return new Promise((resolve, reject) => server.close((error) => (error ? reject(error) : resolve())));
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect({ port, host });
    const answer = (accepted: boolean) => {
      socket.destroy();
      resolve(accepted);
    };
    socket.setTimeout(1000, () => answer(false));
    socket.once('connect', () => answer(true));
    socket.once('error', () => answer(false));
  });
}
