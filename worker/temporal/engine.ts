/** A worker's connection to Temporal, with its workers, its schedules and the workflow client of the relay. */
import { Client } from '@temporalio/client';
import { Worker, type ActivityInterceptorsFactory, type NativeConnection } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import type { TaskQueue } from '../../platform/engine/workflow-types.ts';
import type { Build } from '../../platform/infra/build.ts';
import { describeError } from '../../platform/infra/describe-error.ts';
import { connectWorkers, followApiKey } from './connection.ts';
import { temporalLogger } from './runtime.ts';
import { createMissingSchedules, ensureSchedules, keepSchedules } from './schedules.ts';
import { workerOptions } from './task-queues.ts';
import { workflowBundle } from './workflow-bundle.ts';
import { createClubRuns, type ClubRuns } from './club-runs.ts';
import { createWorkflowClient, type WorkflowClient } from './workflow-client.ts';

export interface Engine {
  workflows: WorkflowClient;
  isRunning(): boolean;
  stopKeepingSchedules(): void;
  /** Lets the workers accept no new tasks, and waits for the tasks in progress. */
  stopWorkers(): Promise<void>;
  close(): Promise<void>;
}

interface WorkerParts {
  activitiesOf: (queue: TaskQueue, runs: ClubRuns) => object;
  interceptors: ActivityInterceptorsFactory[];
  build: Build | undefined;
}

/**
 * Connects to Temporal, creates the schedules, and starts a worker for each task queue. If a worker fails, the process ends.
 * @throws StartProblem if Temporal cannot be reached
 */
export async function startEngine(
  config: Config,
  served: readonly TaskQueue[],
  parts: WorkerParts,
  log: Logger,
): Promise<Engine> {
  const { namespace } = config.temporal;
  const connection = await connectWorkers(config.temporal);
  const key = followApiKey(config.temporal, connection, {
    changed: () => log.info('Temporal gets the new API key from now on'),
    failed: (error) =>
      log.warn({ error: describeError(error) }, 'the API key for Temporal cannot be read; the old key stays in use'),
  });
  const workers = await createWorkers(connection, config, served, parts, log);
  const { schedule: scheduleClient } = new Client({ connection, namespace });
  // A released build creates only missing schedules when it starts, because builds of two versions may run at the same time. Only the
  // command `setup` changes existing schedules of a release.
  await (parts.build ? createMissingSchedules : ensureSchedules)(scheduleClient);
  const stopKeepingSchedules = keepSchedules(scheduleClient, (error) =>
    log.warn({ error: describeError(error) }, 'the schedules could not be checked; it is tried again'),
  );
  const running = Promise.all(workers.map((worker) => worker.run()));
  running.catch((error: unknown) => {
    log.fatal({ error: describeError(error) }, 'a Temporal worker failed');
    process.exit(1);
  });
  return {
    workflows: createWorkflowClient(connection, namespace),
    isRunning: () => workers.every((worker) => worker.getState() === 'RUNNING'),
    stopKeepingSchedules,
    async stopWorkers() {
      for (const worker of workers) worker.shutdown();
      await running;
    },
    async close() {
      key.stop(); // not earlier, because the last running steps may still need a new API key
      await connection.close();
    },
  };
}

/** @returns a worker for each served task queue; all workers load the same workflow bundle */
async function createWorkers(
  connection: NativeConnection,
  { temporal: { namespace }, worker: { workflowBundleFile } }: Config,
  served: readonly TaskQueue[],
  { activitiesOf, interceptors, build }: WorkerParts,
  log: Logger,
): Promise<Worker[]> {
  const bundle = await workflowBundle(workflowBundleFile, temporalLogger(log));
  const runs = createClubRuns(connection, namespace);
  return Promise.all(
    served.map((taskQueue) =>
      Worker.create({
        ...workerOptions(taskQueue, build),
        connection,
        namespace,
        workflowBundle: bundle,
        activities: activitiesOf(taskQueue, runs),
        interceptors: { activity: interceptors },
      }),
    ),
  );
}
