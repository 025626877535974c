/** The runtime of Temporal's SDK, of which a process has one: its log and its metrics. */
import { Runtime, type Logger as TemporalLogger } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import { metricsAddress } from './connection.ts';

/** Before anything else of the SDK is used. @throws StartProblem if the host of the metrics has no address */
export async function installRuntime(
  { host, temporalMetricsPort: port }: Config['worker'],
  log: Logger,
): Promise<void> {
  const bindAddress = port > 0 ? await metricsAddress(host, port) : undefined;
  Runtime.install({
    logger: temporalLogger(log),
    shutdownSignals: [],
    ...(bindAddress !== undefined && { telemetryOptions: { metrics: { prometheus: { bindAddress } } } }),
  });
}

/** @returns a logger of the SDK that writes to our log: what the SDK reports as information is for debugging here */
export function temporalLogger(log: Logger): TemporalLogger {
  return {
    log: (level, message) => log[level === 'WARN' ? 'warn' : level === 'ERROR' ? 'error' : 'debug'](message),
    trace: (message) => log.trace(message),
    debug: (message) => log.debug(message),
    info: (message) => log.debug(message),
    warn: (message) => log.warn(message),
    error: (message) => log.error(message),
  };
}
