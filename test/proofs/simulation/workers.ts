/** The workers of a simulation: the real activities with their interceptors, and the real relay, each in its own process. */
import { asyncLocalStorage, Context, type Info } from '@temporalio/activity';
import { noopMetricMeter } from '@temporalio/common';
import type { ActivityExecuteInput, ActivityInterceptors } from '@temporalio/worker';
import pino from 'pino';
import type { DataSource } from 'typeorm';
import { activities, type ActivityDeps } from '../../../activities/index.ts';
import { Database } from '../../../platform/infra/postgres/database.ts';
import { activityInterceptors } from '../../../worker/activities/activity-interceptors.ts';
import { createAttemptPermits } from '../../../worker/lanes/attempt-permits.ts';
import { createDirectLane } from '../../../worker/lanes/direct-lane.ts';
import { startRelay, type Relay } from '../../../worker/relay/relay.ts';
import type { WorkflowClient } from '../../../worker/temporal/workflow-client.ts';
import { runAs, type SimulatedProcess } from './simulated-process.ts';
import type { Stage } from './stage.ts';
import type { ActivityTask } from './temporal/server.ts';

/** The interval of the polls of the relay (worker/relay/relay.ts). */
const relayPollMs = 1_000;
/** The number of permits is small, so that some deliveries use workflows. */
const directSlots = 8;
const failpoint = () => Promise.resolve();
const log = pino({ enabled: false });

export interface SimulatedWorker {
  process: SimulatedProcess;
  notify: () => void;
  relay: Relay | undefined;
  lane: ReturnType<typeof createDirectLane> | undefined;
  tasks: number;
  /** Whether the worker takes no new tasks, because another version replaces it. */
  leaves: boolean;
  startRelay(client: WorkflowClient): void;
  perform(task: ActivityTask, beat: () => void, end: () => Promise<void>): Promise<unknown>;
}

export function makeWorker(
  process: SimulatedProcess,
  { stage, source, notify }: { stage: Stage; source: DataSource; notify: () => void },
): SimulatedWorker {
  return runAs({ process }, () => {
    const db = new Database(source, { notify });
    const permits = createAttemptPermits();
    const onAttempt: typeof permits.onAttempt = (attempt) => {
      permits.onAttempt(attempt);
      lane?.report(attempt);
    };
    const deps = { db, ...stage.depsFor(db, { ...permits, onAttempt }), onRescued: () => {} } as ActivityDeps;
    const lane = stage.hasDirectLane?.(process.name)
      ? createDirectLane({ total: directSlots, shared: permits, deliveries: deps.deliveries, failpoint, log })
      : undefined;
    const functions = Object.assign(
      {},
      activities.sweep(deps),
      afterRemovals,
      ...stage.types.map((type) => activities[type](deps)),
    ) as Readonly<Record<string, (...args: unknown[]) => Promise<unknown>>>;
    const interceptors = activityInterceptors(db, log);
    const worker: SimulatedWorker = {
      process,
      notify: () => {},
      relay: undefined,
      lane,
      tasks: 0,
      leaves: false,
      startRelay(client) {
        runAs({ process, pollMs: relayPollMs }, () => {
          worker.relay = startRelay({
            db,
            databaseUrl: '',
            listen: ({ onNotify }) => {
              worker.notify = () => onNotify('');
              return { stop: () => Promise.resolve() };
            },
            workflows: client,
            localAttempts: permits,
            ...(lane && { lane }),
            bulkStartsPerSecond: 1_000,
            log,
            failpoint,
          });
        });
      },
      async perform(task, beat, end) {
        const activity = functions[task.name];
        if (!activity) throw new Error(`No worker has ${task.name}`);
        const context = contextOf(task, beat);
        const around = within(interceptors, context, (input) => activity(...input.args));
        return runAs({ process }, async () => {
          worker.tasks++;
          const settled = await asyncLocalStorage.run(context, () =>
            around({ args: asJson([...task.args]), headers: {} }).then(
              (result) => ({ result: result === undefined ? undefined : asJson(result) }),
              (error: unknown) => ({ error }),
            ),
          );
          await end();
          worker.tasks--;
          if ('error' in settled) throw settled.error;
          return settled.result;
        });
      },
    };
    return worker;
  });
}

/** Many scenarios remove students. Only the scenario of these runs replaces this step by the real one. */
const afterRemovals = { followPersonErasure: () => Promise.resolve({ done: true, outcome: 'completed' }) };

const asJson = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

function contextOf({ workflowType, attempt, clubId }: ActivityTask, beat: () => void): Context {
  const info = { workflowType, attempt, ...(clubId !== null && { priority: { fairnessKey: clubId } }) };
  return new Context(
    info as unknown as Info,
    new Promise<never>(() => {}),
    new AbortController().signal,
    beat,
    undefined,
    log as never,
    noopMetricMeter,
    {},
  );
}

type Execute = (input: ActivityExecuteInput) => Promise<unknown>;

function within(
  interceptors: readonly ((context: Context) => ActivityInterceptors)[],
  context: Context,
  activity: Execute,
): Execute {
  return interceptors
    .map((make) => make(context).inbound?.execute)
    .toReversed()
    .reduce<Execute>((next, execute) => (execute ? (input) => execute(input, next) : next), activity);
}
