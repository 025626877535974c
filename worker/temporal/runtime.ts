/** The runtime of Temporal's SDK, with its log and its metrics. A process has one runtime. */
import { Runtime, type Logger as TemporalLogger } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import { metricsAddress } from './connection.ts';

/** Installs the runtime. Must run before any other use of the SDK. @throws StartProblem if the host of the metrics has no address */
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

/** @returns a logger for the SDK that writes to our log; lines of the level "info" become debug lines */
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
