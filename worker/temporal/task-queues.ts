/** For each task queue, the number of concurrent tasks in one process, and the time that running steps get when the process stops. */
import { availableParallelism } from 'node:os';
import type { WorkerOptions } from '@temporalio/worker';
import { mediaPermits } from '../../domain/media/processing.policy.ts';
import type { TaskQueue } from '../../platform/engine/workflow-types.ts';
import type { Build } from '../../platform/infra/build.ts';
import { smtpConnections } from '../../platform/infra/smtp/smtp.ts';
import { deploymentOptions } from './deployment.ts';

export const slots: Record<TaskQueue, { workflowTasks: number; activities: number }> = {
  // An attempt mostly waits for its receiver. The attempts of sixty receivers that hang for 15 s hold some 200 slots.
  webhooks: { workflowTasks: 128, activities: 600 },
  mail: { workflowTasks: 10, activities: smtpConnections }, // there are as many steps as connections, so no mail waits for a connection while its lease runs
  'bulk-mail': { workflowTasks: 4, activities: smtpConnections }, // a separate pool, so that a sign-in code never waits for bulk mail
  campaigns: { workflowTasks: 10, activities: 4 }, // each step hands over mails on the connections that campaigns and digests share
  automations: { workflowTasks: 40, activities: 20 }, // a step is one or two transactions; a few steps hand over a mail, which may take a minute
  sales: { workflowTasks: 10, activities: 10 }, // each step is one transaction; further steps would only wait for connections
  imports: { workflowTasks: 4, activities: 2 }, // a batch keeps Postgres busy, so more concurrent batches would only delay each other
  billing: { workflowTasks: 4, activities: 4 },
  domains: { workflowTasks: 4, activities: 8 }, // a check mostly waits for name servers; hanging checks hold no slots of other queues
  agents: { workflowTasks: 16, activities: 200 }, // an answer mostly waits for the model; this is the number of concurrent answers
  indexing: { workflowTasks: 4, activities: 3 }, // a file keeps a core busy; a club uses at most two slots, so that other clubs have a slot (ENG-20)
  media: { workflowTasks: 10, activities: 2 * mediaPermits(availableParallelism()) }, // a club uses at most half of the slots (ENG-20)
  moves: { workflowTasks: 4, activities: 8 }, // a move waits for the store, which copies the file; a club uses at most half of the slots (ENG-20)
  subtitles: { workflowTasks: 4, activities: 1 }, // a command keeps cores busy for hours, so only one runs at a time, and fairness alternates the clubs
  upkeep: { workflowTasks: 4, activities: 2 },
};

const minute = 60;
const hour = 60 * minute;

/**
 * The seconds that running steps get to end when the process stops (ENG-10). A step is asked to stop only after this time. If no shorter
 * time is known to be enough, the value is the longest time limit of the queue's steps in workflows/index.ts. A queue without a running
 * step stops immediately.
 */
const graceSeconds: Record<TaskQueue, number> = {
  webhooks: 20, // the 15 s of an attempt, and the time of its record
  mail: 50, // the 45 s of the SMTP client, and the time of the record
  'bulk-mail': 70,
  campaigns: 5 * minute, // a step claims mails for 10 s, and ends when the last of them is sent
  automations: 3 * minute,
  sales: 15, // one transaction, with the pauses before retries
  imports: minute, // one batch
  billing: 40, // a call of the payment processor, with one retry
  domains: 30,
  agents: 14 * minute, // a step ends its answer after 13 minutes; an interrupted answer would fail with the text so far
  indexing: 130, // reading a file takes up to two minutes; a longer step is released, and another worker begins it again
  media: 6 * hour, // a long video whose size is reduced; when cut off, hours of work would be lost
  moves: 6 * hour, // the time for the largest file with a slow store
  subtitles: minute, // a longer step is released, and another worker begins it again
  upkeep: minute, // one batch
};

/** The number of waiting runs in memory, some 0.3 MB each. Other runs are replayed from their histories when they continue. */
const cachedWorkflows = 400;

/** The SDK delays heartbeats by at most this time: a third of the shortest heartbeat timeout, so that one heartbeat may be lost. */
const heartbeatsEveryMs = 3_000;

/**
 * @param build the running build; undefined in a checkout
 * @returns the options of the queue's worker that are equal in every process of the build
 */
export function workerOptions(taskQueue: TaskQueue, build: Build | undefined) {
  const { workflowTasks, activities } = slots[taskQueue];
  return {
    ...deploymentOptions(build),
    taskQueue,
    shutdownGraceTime: graceSeconds[taskQueue] * 1_000,
    maxCachedWorkflows: cachedWorkflows,
    maxHeartbeatThrottleInterval: heartbeatsEveryMs,
    maxConcurrentWorkflowTaskExecutions: workflowTasks,
    maxConcurrentActivityTaskExecutions: activities,
    maxConcurrentLocalActivityExecutions: workflowTasks,
  } satisfies WorkerOptions;
}
