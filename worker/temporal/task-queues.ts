/**
 * Defines, for each task queue, the number of concurrent tasks in one process, and the time that running steps get when the process stops.
 */
import { availableParallelism } from 'node:os';
import type { WorkerOptions } from '@temporalio/worker';
import { mediaPermits } from '../../domain/media/processing.policy.ts';
import type { TaskQueue } from '../../platform/engine/workflow-types.ts';
import type { Build } from '../../platform/infra/build.ts';
import { smtpConnections } from '../../platform/infra/smtp/smtp.ts';
import { deploymentOptions } from './deployment.ts';

export const slots: Record<TaskQueue, { workflowTasks: number; activities: number }> = {
  // Many slots, because an attempt mostly waits for its receiver. Sixty receivers that hang for 15 s occupy some 200 slots.
  webhooks: { workflowTasks: 128, activities: 600 },
  mail: { workflowTasks: 10, activities: smtpConnections }, // one for each SMTP connection, so that no mail waits during its lease
  'bulk-mail': { workflowTasks: 4, activities: smtpConnections }, // separate from `mail`, so that a sign-in code never waits for bulk mail
  campaigns: { workflowTasks: 10, activities: 4 }, // few, because the steps of campaigns and digests share the SMTP connections
  automations: { workflowTasks: 40, activities: 20 }, // a step is one or two transactions, or a mail of up to a minute
  sales: { workflowTasks: 10, activities: 10 }, // each step is one transaction; more steps would only wait for Postgres connections
  imports: { workflowTasks: 4, activities: 2 }, // a batch keeps Postgres busy, so more concurrent batches would only delay each other
  billing: { workflowTasks: 4, activities: 4 },
  domains: { workflowTasks: 4, activities: 8 }, // a check mostly waits for name servers; a hanging check occupies no slot of another queue
  agents: { workflowTasks: 16, activities: 200 }, // the number of concurrent answers, which mostly wait for the model
  indexing: { workflowTasks: 4, activities: 3 }, // a file keeps a core busy; a club uses at most two slots, so that other clubs have a slot (ENG-20)
  media: { workflowTasks: 10, activities: 2 * mediaPermits(availableParallelism()) }, // a club uses at most half of the slots (ENG-20)
  moves: { workflowTasks: 4, activities: 8 }, // a move waits for the store, which copies the file; a club uses at most half of the slots (ENG-20)
  subtitles: { workflowTasks: 4, activities: 1 }, // a command keeps cores busy for hours, so only one runs at a time, and fairness alternates the clubs
  upkeep: { workflowTasks: 4, activities: 2 },
};

const minute = 60;
const hour = 60 * minute;

/**
 * The time that running steps get to end when the process stops, in seconds (ENG-10). Only after this time are steps asked to stop. The
 * value is the longest time limit of the queue's steps in workflows/index.ts, unless a comment explains a shorter time. A queue without a
 * running step stops immediately.
 */
const graceSeconds: Record<TaskQueue, number> = {
  webhooks: 20, // an attempt takes up to 15 s, and is then recorded
  mail: 50, // the SMTP client takes up to 45 s, and the mail is then recorded
  'bulk-mail': 70,
  campaigns: 5 * minute, // a step claims mails for 10 s, and ends when the last claimed mail is sent
  automations: 3 * minute,
  sales: 15, // one transaction, and the pauses before its retries
  imports: minute, // one batch
  billing: 40, // a call of the payment processor, with one retry
  domains: 30,
  agents: 14 * minute, // a step ends its answer after 13 minutes; an answer that is cut off fails
  indexing: 130, // enough to read a file; a longer step is stopped, and another worker begins it again
  media: 6 * hour, // enough to transcode a long video; a shorter time could waste hours of work
  moves: 6 * hour, // enough for the largest file with a slow store
  subtitles: minute, // a longer step is stopped, and another worker begins it again
  upkeep: minute, // one batch
};

/**
 * The number of runs that are kept in memory while they wait; each takes some 0.3 MB. All other runs are replayed from their histories when
 * they continue.
 */
const cachedWorkflows = 400;

/**
 * The longest time by which the SDK delays a heartbeat, in milliseconds. It is a third of the shortest heartbeat timeout, so that a run
 * survives one lost heartbeat.
 */
const heartbeatsEveryMs = 3_000;

/** @returns only those options that do not depend on the process */
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
