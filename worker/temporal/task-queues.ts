/** How much each queue's worker takes on at a time, in one process, and how long what it has taken on may take at a stop. */
import { availableParallelism } from 'node:os';
import type { WorkerOptions } from '@temporalio/worker';
import { mediaPermits } from '../../domain/media/processing.policy.ts';
import type { TaskQueue } from '../../platform/engine/workflow-types.ts';
import type { Build } from '../../platform/infra/build.ts';
import { smtpConnections } from '../../platform/infra/smtp/smtp.ts';
import { deploymentOptions } from './deployment.ts';

export const slots: Record<TaskQueue, { workflowTasks: number; activities: number }> = {
  webhooks: { workflowTasks: 128, activities: 600 }, // an attempt mostly waits for its receiver: sixty that hang for 15 s hold some 200
  mail: { workflowTasks: 10, activities: smtpConnections }, // none waits for a connection while its lease runs
  'bulk-mail': { workflowTasks: 4, activities: smtpConnections }, // a pool of its own: bulk never holds a connection that a code waits for
  campaigns: { workflowTasks: 10, activities: 4 }, // each hands mails over on the connections that campaigns and digests share
  automations: { workflowTasks: 40, activities: 20 }, // a step is a transaction or two; a few hand a mail over, which may take a minute
  sales: { workflowTasks: 10, activities: 10 }, // each step is one transaction; more would only wait for connections
  imports: { workflowTasks: 4, activities: 2 }, // a batch keeps Postgres busy: more at a time would only make others wait
  billing: { workflowTasks: 4, activities: 4 },
  domains: { workflowTasks: 4, activities: 8 }, // a check mostly waits for name servers; those that hang hold nothing else
  agents: { workflowTasks: 16, activities: 200 }, // an answer mostly waits for the model's words: so many are written at a time
  indexing: { workflowTasks: 4, activities: 3 }, // a file keeps a core busy: two of a club, and one is left to others (ENG-20)
  media: { workflowTasks: 10, activities: 2 * mediaPermits(availableParallelism()) }, // a club holds half of them at most (ENG-20)
  moves: { workflowTasks: 4, activities: 8 }, // a move waits for the store, which copies the file; a club holds half of them at most (ENG-20)
  subtitles: { workflowTasks: 4, activities: 1 }, // a command keeps cores busy for hours: one at a time, and fairness lets clubs take turns
  upkeep: { workflowTasks: 4, activities: 2 },
};

const minute = 60;
const hour = 60 * minute;

/**
 * Seconds that steps in flight have at a stop (ENG-10): a step is told to stop only after them. Where no other time is known to be
 * enough, it is the longest time limit of the queue's steps in workflows/index.ts. A queue without a step ends at once.
 */
const graceSeconds: Record<TaskQueue, number> = {
  webhooks: 20, // an attempt's 15 s, and its record
  mail: 50, // the SMTP client's 45 s, and the record
  'bulk-mail': 70,
  campaigns: 5 * minute, // a page claims for 10 s, and ends with its last mail
  automations: 3 * minute,
  sales: 15, // one transaction, with the pauses before it is tried again
  imports: minute, // a batch
  billing: 40, // a call of the payment processor, repeated once
  domains: 30,
  agents: 14 * minute, // an answer gives up at 13 minutes; cut off, it would fail with the text so far
  indexing: 130, // two minutes to read a file; what takes longer is released, and begun again elsewhere
  media: 6 * hour, // a long video that is made smaller: begun again elsewhere, its hours would be lost
  moves: 6 * hour, // the largest file, with a slow store
  subtitles: minute, // what takes longer is given back, and begun again elsewhere
  upkeep: minute, // a batch
};

/** Waiting runs in memory, some 0.3 MB each; the others are replayed from their histories when they continue. */
const cachedWorkflows = 400;

/** The SDK delays heartbeats by at most this: a third of the shortest heartbeat timeout, so that one may be lost. */
const heartbeatsEveryMs = 3_000;

/** @param build undefined in a checkout @returns the options of the queue's worker that are the same in every process of the build */
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
