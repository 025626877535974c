/**
 * Starts workers for tests. A worker in the process of the test can use any Temporal connection. The real worker is a separate process,
 * which a test can kill.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Worker, type NativeConnection, type WorkerOptions } from '@temporalio/worker';
import { Client, Connection } from '@temporalio/client';
import { register } from 'prom-client';
import { readConfig } from '../../../config.ts';
import { startChild, type Child, type Exit } from '../../../dev/stack/children.ts';
import { freePorts } from '../../../dev/stack/ports.ts';
import { scriptArguments } from '../../../dev/project.ts';
import { untilOk } from '../../../dev/stack/readiness.ts';
import type { TaskQueue } from '../../../platform/engine/workflow-types.ts';
import { createLogger } from '../../../platform/infra/process.ts';
import { activityInterceptors } from '../../../worker/activities/activity-interceptors.ts';
import { recordingArguments } from '../../statements/recording.ts';
import { startWorker, type RunningWorker } from '../../../worker/main.ts';
import { testDeps } from './database.ts';
import { testStack, workflowBundleFile } from './stack.ts';
import { quietRuntime } from './time-skipping.ts';

/** The workflows, in the form in which workers run them. */
export async function workflowBundle(): Promise<{ codePath: string }> {
  return { codePath: await workflowBundleFile() };
}

/** Runs a worker in this process until it is stopped. */
export async function runWorkerHere(
  connection: NativeConnection,
  options: Pick<WorkerOptions, 'taskQueue' | 'namespace' | 'activities' | 'maxCachedWorkflows' | 'identity'>,
): Promise<{ stop(): Promise<void> }> {
  const log = createLogger('test', 'silent');
  const worker = await Worker.create({
    ...options,
    connection,
    workflowBundle: await workflowBundle(),
    interceptors: { activity: activityInterceptors((await testDeps()).db, log) },
  });
  const running = worker.run();
  running.catch(() => {});
  return {
    async stop() {
      worker.shutdown();
      await running;
    },
  };
}

/** Call this function in a `describe`. @returns a function that returns a client of the stack's Temporal, for use inside the tests */
export function useTemporal(): () => Client {
  let client: Client | undefined;
  before('connect to Temporal', async () => {
    await testStack();
    const { address, namespace } = readConfig().temporal;
    client = new Client({ connection: await Connection.connect({ address }), namespace });
  });
  after('disconnect from Temporal', () => client?.connection.close());
  return () => {
    if (client === undefined) throw new Error('The client is connected only during tests');
    return client;
  };
}

export interface ObservedWorker {
  ready(): Promise<boolean>;
  /** The value of this metric in /metrics, summed over its labels; 0 if absent. */
  metric(name: string): Promise<number>;
}

/** A process that runs worker/main.ts against the stack of the test run. */
export interface WorkerProcess extends ObservedWorker {
  readonly pid: number;
  readonly exited: Promise<Exit>;
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<Exit & { tookMs: number }>;
  log(): string;
}

const startTimeoutMs = 60_000; // A start takes some seconds, but much longer on a busy machine.

/**
 * Call this function in a `describe`. Before its tests, the runs of earlier test files are ended, so that workers find only runs of this
 * file. After its tests, workers that still run are killed.
 * @param taskQueues the queues that the workers serve. A process with one queue starts faster
 * @returns a function that starts a worker and waits until it is ready; `env` sets the failpoints of the worker
 */
export function useWorkerProcesses(
  ...taskQueues: readonly TaskQueue[]
): (env?: Readonly<Record<string, string>>) => Promise<WorkerProcess> {
  const children: Child[] = [];
  let directory = '';
  before('end the runs of other test files', async function () {
    this.timeout(startTimeoutMs);
    directory = await mkdtemp(path.join(os.tmpdir(), 'club-learning-worker-'));
    await endLeftRuns();
  });
  after('kill the workers', async () => {
    await Promise.all(children.map((child) => killed(child)));
    await rm(directory, { recursive: true, force: true });
  });

  return async (env = {}) => {
    const { port } = await freePorts(['port']);
    const child = startChild({
      name: 'The worker',
      command: process.execPath,
      args: [...recordingArguments, ...scriptArguments('worker/main.ts')],
      env: {
        ...process.env,
        LOG_LEVEL: 'warn',
        WORKER_PORT: String(port),
        WORKFLOW_BUNDLE_FILE: await workflowBundleFile(),
        WORKER_TASK_QUEUES: taskQueues.join(','),
        ...env,
      },
      logFile: path.join(directory, `worker-${children.length + 1}.log`),
    });
    children.push(child);
    const base = `http://127.0.0.1:${port}`;
    await untilOk(`${base}/readyz`, { timeoutMs: startTimeoutMs, child });
    const { pid, exited } = child;
    if (pid === undefined) throw new Error('The process has no id');
    return {
      pid,
      exited,
      ...observed(base),
      async end(signal) {
        const askedAt = performance.now();
        process.kill(pid, signal);
        return { ...(await exited), tookMs: performance.now() - askedAt };
      },
      log: () => child.lastLines(100_000),
    };
  };
}

function observed(base: string): ObservedWorker {
  return {
    ready: async () => (await fetch(`${base}/readyz`)).ok,
    metric: async (name) => sumOf(name, await (await fetch(`${base}/metrics`)).text()),
  };
}

/**
 * Runs the whole worker in this process, for tests that kill no process. It starts much faster than a separate process. Call this function
 * in a `describe`. The worker ends after its tests.
 * @returns a function that starts the worker, once in each `describe`; `env` changes the configuration of the worker
 */
export function useWorker(): (env?: Readonly<Record<string, string>>) => Promise<ObservedWorker> {
  let running: RunningWorker | undefined;
  before('end the runs of other test files', endLeftRuns);
  after('stop the worker', async function () {
    this.timeout(startTimeoutMs);
    await running?.stop();
  });

  return async (env = {}) => {
    quietRuntime();
    register.resetMetrics(); // A worker of an earlier test file may have changed the metrics of this process.
    const settings = { WORKER_PORT: '0', LOG_LEVEL: 'silent', WORKFLOW_BUNDLE_FILE: await workflowBundleFile() };
    running = await startWorker(readConfig({ ...process.env, ...settings, ...env }));
    return observed(`http://127.0.0.1:${running.port}`);
  };
}

async function killed(child: Child): Promise<void> {
  if (child.pid === undefined) return;
  try {
    process.kill(child.pid, 'SIGKILL');
  } catch {
    return; // The worker has ended already.
  }
  await child.exited;
}

/**
 * Ends all runs of other test files in the namespace of this process. The rows of these runs are not in the database of this file.
 */
export async function endLeftRuns(): Promise<void> {
  await testStack();
  const { address, namespace } = readConfig().temporal;
  const connection = await Connection.connect({ address });
  const { workflow } = new Client({ connection, namespace });
  for await (const { workflowId, runId } of workflow.list({ query: `ExecutionStatus = 'Running'` })) {
    await workflow
      .getHandle(workflowId, runId)
      .terminate()
      .catch(() => {}); // The run may have ended since the list was read.
  }
  await connection.close();
}

/** Parses the text format of Prometheus, which has a line `name{labels} value` for each time series. */
function sumOf(name: string, text: string): number {
  return text
    .split('\n')
    .filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}
