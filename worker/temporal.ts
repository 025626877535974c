/** Connections to Temporal: the workers' own, and the one of commands that come to an end. */
import { lookup } from 'node:dns/promises';
import { isIPv6 } from 'node:net';
import { Connection } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { StartProblem } from '../platform/core/start-problem.ts';

interface Temporal {
  /** Host and port. */
  readonly address: string;
}

/** @throws StartProblem */
export function connectWorkers({ address }: Temporal): Promise<NativeConnection> {
  return orProblem(NativeConnection.connect({ address }), address);
}

/** @throws StartProblem */
export function connectCommand({ address }: Temporal): Promise<Connection> {
  return orProblem(Connection.connect({ address }), address);
}

/**
 * Where Temporal's SDK serves its metrics. The SDK takes no names, so that a name is looked up.
 * @returns such as `0.0.0.0:9090` or `[::1]:9090`
 * @throws StartProblem where the name has no address
 */
export async function metricsAddress(host: string, port: number): Promise<string> {
  const { address } = await lookup(host).catch(() => {
    throw new StartProblem(`WORKER_HOST ${host} has no address: Temporal's metrics cannot be served there.`);
  });
  return isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`;
}

async function orProblem<T>(connecting: Promise<T>, address: string): Promise<T> {
  try {
    return await connecting;
  } catch {
    throw new StartProblem(
      `Temporal at ${address} cannot be reached: is TEMPORAL_ADDRESS right, and is the server up?`,
    );
  }
}
