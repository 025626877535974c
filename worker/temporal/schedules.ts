/**
 * Temporal Schedules for timed work. `setup` creates or updates them, and in development each start does so. Workers create missing
 * ones again.
 */
import {
  ScheduleAlreadyRunning,
  ScheduleOverlapPolicy,
  type ScheduleClient,
  type ScheduleOptions,
} from '@temporalio/client';
import type { TaskQueue } from '../../platform/engine/workflow-types.ts';

/** The schedules by the workflow type that they start. */
export const schedules = {
  beginDigests: {
    scheduleId: 'space-digests',
    spec: { intervals: [{ every: '15m' }] }, // time zones differ from UTC by whole quarters of an hour, so 8:00 in each zone is one of these times
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '15m' }, // a late run finds all dates whose digest has not begun
    action: {
      type: 'startWorkflow',
      workflowType: 'beginDigests',
      workflowId: 'space-digests',
      taskQueue: 'upkeep',
      args: [],
      workflowExecutionTimeout: '14m', // a hanging run must not block the next one
    },
  },
  sweep: {
    scheduleId: 'sweeper',
    spec: { intervals: [{ every: '1m' }] }, // a row is overdue after two minutes, so a round each minute finds the row within three minutes
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1m' }, // a missed round needs no catch-up
    action: {
      type: 'startWorkflow',
      workflowType: 'sweep',
      workflowId: 'sweep',
      taskQueue: 'upkeep',
      args: [],
      workflowExecutionTimeout: '5m', // a hanging round must not block the next ones
    },
  },
  retention: {
    scheduleId: 'retention',
    spec: { intervals: [{ every: '1m' }] }, // a run without work makes only a few index lookups
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1m' },
    action: {
      type: 'startWorkflow',
      workflowType: 'retention',
      workflowId: 'retention',
      taskQueue: 'upkeep',
      args: [],
      workflowExecutionTimeout: '10m', // the 60 rounds of a run take one or two minutes if there are many rows to remove
    },
  },
} satisfies Record<string, ScheduleOptions & { action: { taskQueue: TaskQueue } }>;

export const scheduledTypes = Object.keys(schedules) as readonly (keyof typeof schedules)[];

/** Creates the schedules, and updates existing ones to this version. */
export async function ensureSchedules(client: ScheduleClient): Promise<void> {
  for (const schedule of Object.values(schedules)) {
    if (await isCreated(client, schedule)) continue;
    await client.getHandle(schedule.scheduleId).update((current) => ({ ...current, ...schedule }));
  }
}

/**
 * The interval at which missing schedules are created again. It is so short that `/readyz` does not report a missing sweeper before
 * (worker/reports/sweep-watch.ts).
 */
const everyMs = 5 * 60_000;

/**
 * Creates schedules again that an operator deleted or that Temporal lost. Existing schedules stay unchanged, because an older worker would
 * otherwise undo the changes of a newer one.
 * @returns a function that stops the creation
 */
export function keepSchedules(client: ScheduleClient, onFailure: (error: unknown) => void): () => void {
  const keeping = setInterval(() => void createMissingSchedules(client).catch(onFailure), everyMs);
  keeping.unref();
  return () => clearInterval(keeping);
}

/** Creates missing schedules. Existing ones stay unchanged. */
export async function createMissingSchedules(client: ScheduleClient): Promise<void> {
  for (const schedule of Object.values(schedules)) await isCreated(client, schedule);
}

/** @returns false if the schedule exists already */
async function isCreated(client: ScheduleClient, schedule: ScheduleOptions): Promise<boolean> {
  try {
    await client.create(schedule);
    return true;
  } catch (error) {
    if (error instanceof ScheduleAlreadyRunning) return false;
    throw error;
  }
}
