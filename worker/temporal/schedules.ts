/**
 * Temporal Schedules for work at fixed times. The command `setup` creates and updates the schedules, and in development each start of a
 * worker does so. Workers also create missing schedules again.
 */
import {
  ScheduleAlreadyRunning,
  ScheduleOverlapPolicy,
  type ScheduleClient,
  type ScheduleOptions,
} from '@temporalio/client';
import type { TaskQueue } from '../../platform/engine/workflow-types.ts';

export const schedules = {
  beginDigests: {
    scheduleId: 'space-digests',
    spec: { intervals: [{ every: '15m' }] }, // time zones differ by multiples of 15 minutes, so 8:00 in every zone is one of these times
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '15m' }, // a late run begins all digests that are due
    action: {
      type: 'startWorkflow',
      workflowType: 'beginDigests',
      workflowId: 'space-digests',
      taskQueue: 'upkeep',
      args: [],
      workflowExecutionTimeout: '14m', // a hanging run must not block the next one
    },
  },
  fetchReports: {
    scheduleId: 'mail-reports',
    spec: { intervals: [{ every: '5m' }] }, // a bounce is no emergency; without a mailbox the run ends immediately
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '5m' }, // one late run reads all waiting reports
    action: {
      type: 'startWorkflow',
      workflowType: 'fetchReports',
      workflowId: 'mail-reports',
      taskQueue: 'upkeep',
      args: [],
      workflowExecutionTimeout: '30m', // 20 pages of up to a minute each; a hanging run must not block the next one
    },
  },
  sweep: {
    scheduleId: 'sweeper',
    spec: { intervals: [{ every: '1m' }] }, // a row is overdue after two minutes, so a round each minute finds the row within three minutes
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1m' }, // a missed round is not repeated
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

/** Creates the schedules, and changes existing schedules to the definitions of this version. */
export async function ensureSchedules(client: ScheduleClient): Promise<void> {
  for (const schedule of Object.values(schedules)) {
    if (await isCreated(client, schedule)) continue;
    await client.getHandle(schedule.scheduleId).update((current) => ({ ...current, ...schedule }));
  }
}

/**
 * The interval at which missing schedules are created again. It is shorter than the time after which `/readyz` reports a missing sweeper
 * (worker/reports/sweep-watch.ts).
 */
const everyMs = 5 * 60_000;

/**
 * Regularly creates the schedules that an operator deleted or that Temporal lost. Existing schedules stay unchanged, because an older
 * worker would otherwise undo the changes of a newer worker.
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
