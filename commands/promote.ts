/**
 * The command `promote`: makes the build that it belongs to the current one, once its workers poll every task queue. Safe to repeat,
 * and to be killed anywhere. The same command of the build before goes back to that.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { isGrpcServiceError, type Connection } from '@temporalio/client';
import { tsToMs } from '@temporalio/common/lib/time.js';
import proto from '@temporalio/proto';
import { readConfig } from '../config.ts';
import { StartProblem } from '../platform/core/start-problem.ts';
import { forgetReleases, makeCurrent } from '../platform/engine/releases.ts';
import { taskQueues, type TaskQueue } from '../platform/engine/workflow-types.ts';
import { build as ownBuild, type Build } from '../platform/infra/build.ts';
import { Database } from '../platform/infra/postgres/database.ts';
import { createNotifier } from '../platform/infra/postgres/notifications.ts';
import { openDatabase, runOnce } from '../platform/infra/process.ts';
import { deploymentName } from '../worker/temporal/deployment.ts';
import { connectCommand } from '../worker/temporal/connection.ts';

const { TaskQueueType, RoutingConfigUpdateState, VersionDrainageStatus, WorkerDeploymentVersionStatus } =
  proto.temporal.api.enums.v1;
const polledTypes = [TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW, TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY] as const;

/** Workers of a new version may take minutes: images are pulled, and machines are added. */
const pollersWithinMs = 10 * 60_000;
/** The server tells all task queues within this, or says how far it is. */
const toldWithinMs = 60_000;
const lookEveryMs = 500;
/** A poller that was seen within this is there: a poll lasts a minute at most. */
const pollerIsThereMs = 2 * 60_000;

/** Codes of gRPC. */
const codes = { notFound: 5, failedPrecondition: 9 } as const;

export interface Promotion {
  connection: Connection;
  namespace: string;
  db: Database;
  build: Build;
  say: (line: string) => void;
  /** All if absent. */
  queues?: readonly TaskQueue[];
  /** How long to wait for pollers, in milliseconds; 10 minutes if absent. */
  withinMs?: number;
}

/** The command: says what it does. Exit code 1 and the reason where the workers do not poll in time. */
export async function main(): Promise<void> {
  await runOnce('Promotion failed', async () => {
    if (!ownBuild)
      throw new StartProblem('only a build is promoted ("npm run build"): the workers of a checkout have no version');
    const { database, temporal } = readConfig();
    const connection = await connectCommand(temporal);
    const source = await openDatabase(database, 'club-promote');
    try {
      const say = (line: string) => void process.stdout.write(`${line}\n`);
      const db = new Database(
        source,
        createNotifier(source, () => {}),
      );
      await promote({ connection, namespace: temporal.namespace, db, build: ownBuild, say });
      return 0;
    } finally {
      await source.destroy();
      await connection.close();
    }
  });
}

/**
 * Deletes versions that are over, waits for the workers of the build, and makes it current: first in Temporal, then for the relays.
 * Between the two the relays of the build before go on, and what they start is carried on by this one.
 * @throws StartProblem where a task queue has no poller of this build in time
 */
export async function promote({ withinMs = pollersWithinMs, queues = taskQueues, ...given }: Promotion): Promise<void> {
  const { db, build, say } = given;
  const { buildId, version } = build;
  await deleteOver(given); // at the cap a new version cannot register before one is gone (temporalio/temporal#10737)
  await untilPolled(given, queues, withinMs);
  say(`The workers of version ${version}, build ${buildId}, poll all ${queues.length} task queues.`);
  let before: Build | undefined;
  do {
    await setCurrent(given);
    before = (await db.transaction((tx) => makeCurrent(tx, build))) ?? before;
    // Another promotion at the same time may have come between the two: then Temporal and the relays would name different builds.
  } while (!(await readCurrent(given)).isOurs);
  say(
    `Build ${buildId} is current${before ? `, in the place of version ${before.version}, build ${before.buildId}` : ''}.`,
  );
  await deleteOver(given);
}

type Given = Omit<Promotion, 'queues' | 'withinMs'>;

async function untilPolled(given: Given, queues: readonly TaskQueue[], withinMs: number): Promise<void> {
  const deadline = performance.now() + withinMs;
  const { build, say } = given;
  let isTold = false;
  let missing = await unpolled(given, queues);
  while (missing.length > 0) {
    const names = missing.join(', ');
    if (performance.now() > deadline)
      throw new StartProblem(
        `no worker of build ${build.buildId} polls ${names}: are its workers up, and does one of them serve each task queue (WORKER_TASK_QUEUES)?`,
      );
    if (!isTold) say(`Waiting for workers of build ${build.buildId} on ${names}.`);
    isTold = true;
    await sleep(lookEveryMs);
    missing = await unpolled(given, missing);
  }
}

async function unpolled(given: Given, queues: readonly TaskQueue[]): Promise<TaskQueue[]> {
  const polled = await Promise.all(queues.map((queue) => isPolled(given, queue)));
  return queues.filter((_, place) => !polled[place]);
}

async function isPolled({ connection, namespace, build }: Given, name: TaskQueue): Promise<boolean> {
  const found = await Promise.all(
    polledTypes.map(async (taskQueueType) => {
      const { pollers } = await connection.workflowService.describeTaskQueue({
        namespace,
        taskQueue: { name },
        taskQueueType,
      });
      return pollers.some(
        ({ deploymentOptions: of, lastAccessTime }) =>
          of?.deploymentName === deploymentName &&
          of.buildId === build.buildId &&
          lastAccessTime &&
          Date.now() - tsToMs(lastAccessTime) < pollerIsThereMs,
      );
    }),
  );
  return found.every(Boolean);
}

async function setCurrent(given: Given): Promise<void> {
  const { connection, namespace, build } = given;
  if (!(await readCurrent(given)).isOurs)
    await connection.workflowService.setWorkerDeploymentCurrentVersion({
      namespace,
      deploymentName,
      buildId: build.buildId,
      identity: `promote ${build.version}`,
    });
  const deadline = performance.now() + toldWithinMs;
  for (;;) {
    const { isOurs, isTold } = await readCurrent(given);
    if (isOurs && isTold) return;
    if (performance.now() > deadline)
      throw new StartProblem(
        `Temporal has not told all task queues of build ${build.buildId} within a minute; run it again`,
      );
    await sleep(lookEveryMs);
  }
}

/** @returns whether Temporal calls this build the current one, and has told all task queues which is */
async function readCurrent(given: Given): Promise<{ isOurs: boolean; isTold: boolean }> {
  const info = await describe(given);
  return {
    isOurs: info?.routingConfig?.currentDeploymentVersion?.buildId === given.build.buildId,
    isTold: info?.routingConfigUpdateState !== RoutingConfigUpdateState.ROUTING_CONFIG_UPDATE_STATE_IN_PROGRESS,
  };
}

/** Versions whose runs have all moved over, or that never were the current one; and that nobody polls. */
async function deleteOver(given: Given): Promise<void> {
  const { connection, namespace, db, build, say } = given;
  const info = await describe(given);
  const over = (info?.versionSummaries ?? [])
    .filter(
      ({ drainageStatus, status }) =>
        drainageStatus === VersionDrainageStatus.VERSION_DRAINAGE_STATUS_DRAINED ||
        status === WorkerDeploymentVersionStatus.WORKER_DEPLOYMENT_VERSION_STATUS_INACTIVE,
    )
    .map(({ deploymentVersion }) => deploymentVersion?.buildId ?? '')
    .filter((buildId) => buildId !== '' && buildId !== build.buildId);
  const deleted: string[] = [];
  for (const buildId of over) {
    try {
      await connection.workflowService.deleteWorkerDeploymentVersion({
        namespace,
        deploymentVersion: { deploymentName, buildId },
        identity: `promote ${build.version}`,
      });
      deleted.push(buildId);
    } catch (error) {
      // Its workers still poll: the next promotion deletes it, or somebody goes back to it.
      if (codeOf(error) === codes.notFound) deleted.push(buildId);
      else if (codeOf(error) !== codes.failedPrecondition) throw error;
    }
  }
  if (deleted.length === 0) return;
  await forgetReleases(db, deleted);
  say(`Deleted versions that are over: ${deleted.join(', ')}.`);
}

async function describe({ connection, namespace }: Given) {
  const deadline = performance.now() + toldWithinMs;
  for (;;) {
    try {
      const { workerDeploymentInfo } = await connection.workflowService.describeWorkerDeployment({
        namespace,
        deploymentName,
      });
      return workerDeploymentInfo ?? undefined;
    } catch (error) {
      if (codeOf(error) === codes.notFound) return undefined; // no worker with a version has polled yet
      // A worker of the server's own knows it, which may not be up yet in a namespace that was just made.
      if (codeOf(error) !== codes.failedPrecondition || performance.now() > deadline) throw error;
      await sleep(lookEveryMs);
    }
  }
}

function codeOf(error: unknown): number | undefined {
  return isGrpcServiceError(error) ? error.code : undefined;
}
