/** The worker process. It runs the relay, and a Temporal worker for each task queue. All Temporal workers use one connection. */
import { collectDefaultMetrics } from 'prom-client';
import { readConfig, type Config } from '../config.ts';
import { directUrlOf } from '../entities/data-source.ts';
import { taskQueues } from '../platform/engine/workflow-types.ts';
import { build as ownBuild, type Build } from '../platform/infra/build.ts';
import { keyMistakes } from '../platform/infra/keys/open-vault.ts';
import { forClub } from '../platform/infra/postgres/shared-pool.ts';
import { databaseMistakes } from '../platform/infra/postgres/checks/start-checks.ts';
import { createLogger, createProcessLogger, runProcess, throwMistakes } from '../platform/infra/process.ts';
import { activityInterceptors } from './activities/activity-interceptors.ts';
import { failpointFrom } from './failpoints.ts';
import { createLanes } from './lanes/lanes.ts';
import { activitiesOf } from './parts/activity-deps.ts';
import { createAnswerDeps } from './parts/answers.ts';
import { preparePrograms } from './parts/programs.ts';
import { openResources } from './parts/resources.ts';
import { startRelay } from './relay/relay.ts';
import { serveHealth } from './reports/health.ts';
import { watchWorker } from './reports/worker-watch.ts';
import { startEngine } from './temporal/engine.ts';
import { installRuntime } from './temporal/runtime.ts';
import { engineMistakes } from './temporal/start-checks.ts';

export interface RunningWorker {
  port: number;
  stop: () => Promise<void>;
}

/**
 * Starts the worker.
 * @param config port 0 means any free port
 */
export async function startWorker(
  config: Config,
  env: Readonly<Record<string, string | undefined>> = {},
  build: Build | undefined = ownBuild,
): Promise<RunningWorker> {
  const log = createProcessLogger('worker', config.log.level);
  const failpoint = failpointFrom(env);
  const served = config.worker.taskQueues.length > 0 ? config.worker.taskQueues : taskQueues;
  const resources = await openResources(config, build, log);
  const { db } = resources;
  const programs = await preparePrograms(config, served, log);
  const answers = createAnswerDeps(config, db, resources.storage, log, failpoint);
  const { deliveries, localAttempts, lane, ...lanes } = createLanes(config, served, { resources, failpoint, log });
  const activities = activitiesOf({ config, resources, programs, answers, deliveries, failpoint, log });
  const interceptors = activityInterceptors(db, log);
  const engine = await startEngine(config, served, { activitiesOf: activities, interceptors, build }, log);
  const relay = startRelay({
    db,
    databaseUrl: directUrlOf(config.database).reveal(),
    workflows: engine.workflows,
    localAttempts,
    ...(lane && { lane }),
    beforeStart({ workflowType, subjectId, clubId }) {
      if (workflowType === 'agentAnswer' && served.includes('agents'))
        forClub(clubId, () => answers.promptsAhead.begin(subjectId));
    },
    bulkStartsPerSecond: config.worker.bulkStartsPerSecond,
    waitSpeed: config.automations.waitSpeed,
    buildId: build?.buildId,
    log,
    failpoint,
  });
  const isWorking = () => relay.isAlive() && engine.isRunning();
  const watch = watchWorker({ db, served, build, ffmpeg: programs.ffmpeg, isWorking, log });
  const health = await serveHealth(config.worker, watch);
  log.info({ port: health.port, ...build }, 'the worker is running');

  return {
    port: health.port,
    async stop() {
      engine.stopKeepingSchedules();
      watch.stop();
      await relay.stop();
      await Promise.all([engine.stopWorkers(), lanes.stop()]);
      answers.log.close();
      await engine.close();
      await resources.close();
      await health.close();
      log.info('the worker has stopped');
    },
  };
}

/** Runs the process `worker` until a signal asks it to stop. */
export async function main(): Promise<void> {
  await runProcess(async () => {
    const config = readConfig();
    collectDefaultMetrics();
    await installRuntime(config.worker, createLogger('temporal', config.log.level));
    await throwMistakes([databaseMistakes(config.database), keyMistakes(config), engineMistakes(config.temporal)]);
    return startWorker(config, process.env);
  });
}

if (import.meta.main) await main();
