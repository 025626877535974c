/**
 * The command `promote`. It waits until workers of its build poll every task queue, and then makes this build the current build. It is safe
 * to repeat the command, or to kill it at any moment. To roll back, run the command `promote` of the earlier build.
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

/**
 * The default of the wait for pollers. Workers of a new version may take minutes to start, because images are pulled and machines are
 * added.
 */
const pollersWithinMs = 10 * 60_000;
/** The time limit within which the server must inform all task queues or report progress. */
const propagatedWithinMs = 60_000;
const lookEveryMs = 500;
/** A poller still runs if its last poll was within this time, because a poll lasts a minute at most. */
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
  /** The maximum wait for pollers, in milliseconds; 10 minutes if absent. */
  withinMs?: number;
}

/** Runs the command `promote`, and prints its steps. If the workers do not poll in time, it prints the reason, and the exit code is 1. */
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
 * Deletes obsolete versions, and waits until the workers of this build are ready. Then it makes this build current, first in Temporal and
 * then for the relays. Between these two steps, the relays of the earlier build still start workflows, and the workers of this build run
 * them.
 * @throws StartProblem if a task queue has no poller of this build in time
 */
export async function promote({ withinMs = pollersWithinMs, queues = taskQueues, ...deps }: Promotion): Promise<void> {
  const { db, build, say } = deps;
  const { buildId, version } = build;
  // When the limit of versions is reached, a new version can register only after an old version is deleted (temporalio/temporal#10737).
  await deleteObsolete(deps);
  await untilPolled(deps, queues, withinMs);
  say(`The workers of version ${version}, build ${buildId}, poll all ${queues.length} task queues.`);
  let before: Build | undefined;
  do {
    await setCurrent(deps);
    before = (await db.transaction((tx) => makeCurrent(tx, build))) ?? before;
    // Between the two steps, another promotion may have run. Without this check, Temporal and the relays would then have different current
    // builds.
  } while (!(await readCurrent(deps)).isOurs);
  say(
    `Build ${buildId} is current${before ? `, and replaces version ${before.version}, build ${before.buildId}` : ''}.`,
  );
  await deleteObsolete(deps);
}

type PromotionDeps = Omit<Promotion, 'queues' | 'withinMs'>;

async function untilPolled(deps: PromotionDeps, queues: readonly TaskQueue[], withinMs: number): Promise<void> {
  const deadline = performance.now() + withinMs;
  const { build, say } = deps;
  let isAnnounced = false;
  let missing = await unpolled(deps, queues);
  while (missing.length > 0) {
    const names = missing.join(', ');
    if (performance.now() > deadline)
      throw new StartProblem(
        `no worker of build ${build.buildId} polls ${names}: are its workers up, and does one of them serve each task queue (WORKER_TASK_QUEUES)?`,
      );
    if (!isAnnounced) say(`Waiting for workers of build ${build.buildId} on ${names}.`);
    isAnnounced = true;
    await sleep(lookEveryMs);
    missing = await unpolled(deps, missing);
  }
}

async function unpolled(deps: PromotionDeps, queues: readonly TaskQueue[]): Promise<TaskQueue[]> {
  const polled = await Promise.all(queues.map((queue) => isPolled(deps, queue)));
  return queues.filter((_, place) => !polled[place]);
}

async function isPolled({ connection, namespace, build }: PromotionDeps, name: TaskQueue): Promise<boolean> {
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

async function setCurrent(deps: PromotionDeps): Promise<void> {
  const { connection, namespace, build } = deps;
  if (!(await readCurrent(deps)).isOurs)
    await connection.workflowService.setWorkerDeploymentCurrentVersion({
      namespace,
      deploymentName,
      buildId: build.buildId,
      identity: `promote ${build.version}`,
    });
  const deadline = performance.now() + propagatedWithinMs;
  for (;;) {
    const { isOurs, isPropagated } = await readCurrent(deps);
    if (isOurs && isPropagated) return;
    if (performance.now() > deadline)
      throw new StartProblem(
        `Temporal has not informed all task queues of build ${build.buildId} within a minute; run this command again`,
      );
    await sleep(lookEveryMs);
  }
}

async function readCurrent(deps: PromotionDeps): Promise<{ isOurs: boolean; isPropagated: boolean }> {
  const info = await describe(deps);
  return {
    isOurs: info?.routingConfig?.currentDeploymentVersion?.buildId === deps.build.buildId,
    isPropagated: info?.routingConfigUpdateState !== RoutingConfigUpdateState.ROUTING_CONFIG_UPDATE_STATE_IN_PROGRESS,
  };
}

/** Deletes versions without pollers, if all their runs have moved to another build, or if they were never current. */
async function deleteObsolete(deps: PromotionDeps): Promise<void> {
  const { connection, namespace, db, build, say } = deps;
  const info = await describe(deps);
  const obsolete = (info?.versionSummaries ?? [])
    .filter(
      ({ drainageStatus, status }) =>
        drainageStatus === VersionDrainageStatus.VERSION_DRAINAGE_STATUS_DRAINED ||
        status === WorkerDeploymentVersionStatus.WORKER_DEPLOYMENT_VERSION_STATUS_INACTIVE,
    )
    .map(({ deploymentVersion }) => deploymentVersion?.buildId ?? '')
    .filter((buildId) => buildId !== '' && buildId !== build.buildId);
  const deleted: string[] = [];
  for (const buildId of obsolete) {
    try {
      await connection.workflowService.deleteWorkerDeploymentVersion({
        namespace,
        deploymentVersion: { deploymentName, buildId },
        identity: `promote ${build.version}`,
      });
      deleted.push(buildId);
    } catch (error) {
      // Workers of this version still poll, so the version cannot be deleted yet. The next promotion deletes the version, unless an
      // operator rolls back to it.
      if (codeOf(error) === codes.notFound) deleted.push(buildId);
      else if (codeOf(error) !== codes.failedPrecondition) throw error;
    }
  }
  if (deleted.length === 0) return;
  await forgetReleases(db, deleted);
  say(`Deleted obsolete versions: ${deleted.join(', ')}.`);
}

async function describe({ connection, namespace }: PromotionDeps) {
  const deadline = performance.now() + propagatedWithinMs;
  for (;;) {
    try {
      const { workerDeploymentInfo } = await connection.workflowService.describeWorkerDeployment({
        namespace,
        deploymentName,
      });
      return workerDeploymentInfo ?? undefined;
    } catch (error) {
      if (codeOf(error) === codes.notFound) return undefined; // no worker has registered a version yet
      // An internal worker of the server answers this call. In a new namespace, this worker perhaps does not run yet.
      if (codeOf(error) !== codes.failedPrecondition || performance.now() > deadline) throw error;
      await sleep(lookEveryMs);
    }
  }
}

function codeOf(error: unknown): number | undefined {
  return isGrpcServiceError(error) ? error.code : undefined;
}
