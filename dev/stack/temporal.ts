/** The Temporal development server, with its UI, our namespace and our search attributes. */
import path from 'node:path';
import { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { searchAttributes } from '../../platform/engine/workflow-types.ts';
import { startChild } from './children.ts';
import { locate } from '../components.ts';
import { components } from '../components/catalogue.ts';
import { host } from './ports.ts';
import { until, untilPortAnswers } from './readiness.ts';
import { startTimeoutMs, type Part, type PartContext } from './part.ts';

export interface TemporalPorts {
  readonly temporal: number;
  /** Absent: no UI. */
  readonly temporalUi?: number;
}

/** Closed workflows stay readable for this time. */
const retention = '3 days';

const dynamicConfig = {
  // Without fairness, a club's task waits behind all earlier tasks of another club (ENG-9). In server 1.29.1, fairness switches on
  // `matching.useNewMatcher`, which it needs.
  'matching.enableFairness': true,
  // Temporal limits calls a second to protect a cluster with many users. Only this machine calls this server, so the limits are very high.
  'frontend.rps': 20_000,
  'frontend.namespaceRPS': 20_000,
  'history.rps': 20_000,
  'matching.rps': 20_000,
};

// Three times as fast as the defaults, which wait for the disk at every transition. A power cut can lose the last transitions; the sweeper
// then restarts the lost workflows (ENG-5).
const sqlitePragmas = { journal_mode: 'wal', synchronous: 'off' };

/** The server stores its data in the part's directory. @param namespaces the first is the namespace of the environment */
export async function startTemporal(
  namespaces: readonly [string, ...string[]],
  ports: TemporalPorts,
  context: PartContext,
): Promise<Part> {
  const command = await locate(components.temporal, { report: context.report });
  const ui = ports.temporalUi === undefined ? ['--headless'] : ['--ui-port', String(ports.temporalUi)];
  const server = startChild({
    name: 'The Temporal server',
    command,
    args: ['server', 'start-dev', '--ip', host, '--port', String(ports.temporal)].concat(
      ui,
      ['--db-filename', path.join(context.directory, 'temporal.sqlite')],
      namespaces.flatMap((namespace) => ['--namespace', namespace]),
      pairs('--sqlite-pragma', sqlitePragmas),
      searchAttributes.flatMap((name) => ['--search-attribute', `${name}=Keyword`]),
      pairs('--dynamic-config-value', dynamicConfig),
    ),
    logFile: context.logFile,
  });
  try {
    const wait = { timeoutMs: startTimeoutMs, child: server };
    await untilPortAnswers(ports.temporal, wait);
    await until('The Temporal server', () => keepClosedWorkflows(`${host}:${ports.temporal}`, namespaces), wait);
    if (ports.temporalUi !== undefined) await untilPortAnswers(ports.temporalUi, wait);
  } catch (error) {
    await server.stop();
    throw error;
  }
  return {
    environment: {
      TEMPORAL_ADDRESS: `${host}:${ports.temporal}`,
      TEMPORAL_NAMESPACE: namespaces[0],
      ...(ports.temporalUi === undefined ? {} : { TEMPORAL_UI_URL: `http://${host}:${ports.temporalUi}` }),
    },
    child: server,
    stop: () => server.stop(),
  };
}

/** Sets the retention, for which the server's command line has no option. */
async function keepClosedWorkflows(address: string, namespaces: readonly string[]): Promise<void> {
  const connection = await Connection.connect({ address, connectTimeout: '2s' });
  try {
    for (const namespace of namespaces) {
      await connection.workflowService.updateNamespace({
        namespace,
        config: { workflowExecutionRetentionTtl: msToTs(retention) },
      });
    }
  } finally {
    await connection.close();
  }
}

function pairs(flag: string, values: Readonly<Record<string, string | number | boolean>>): string[] {
  return Object.entries(values).flatMap(([key, value]) => [flag, `${key}=${value}`]);
}
