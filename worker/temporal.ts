/** Connections to Temporal: the workers' own, and the one of commands that come to an end. */
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

async function orProblem<T>(connecting: Promise<T>, address: string): Promise<T> {
  try {
    return await connecting;
  } catch {
    throw new StartProblem(
      `Temporal at ${address} cannot be reached: is TEMPORAL_ADDRESS right, and is the server up?`,
    );
  }
}
