/** Temporal Schedules, for work by the clock. `setup` creates or updates them, and in development each start; workers create missing ones again. */
import {
  ScheduleAlreadyRunning,
  ScheduleOverlapPolicy,
  type ScheduleClient,
  type ScheduleOptions,
} from '@temporalio/client';
import type { TaskQueue } from '../../platform/engine/workflow-types.ts';

/** By the workflow type that each starts. */
export const schedules = {
  beginDigests: {
    scheduleId: 'space-digests',
    spec: { intervals: [{ every: '15m' }] }, // zones are off UTC by whole quarters of an hour, so 8:00 is one of these times in each
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '15m' }, // one missed run is made up: it finds every date that is still to begin
    action: {
      type: 'startWorkflow',
      workflowType: 'beginDigests',
      workflowId: 'space-digests',
      taskQueue: 'upkeep',
      args: [],
      workflowExecutionTimeout: '14m', // a run that hangs must not keep the next one from running
    },
  },
  sweep: {
    scheduleId: 'sweeper',
    spec: { intervals: [{ every: '1m' }] }, // overdue means two minutes late, so a round a minute finds it within three
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1m' }, // missed rounds add nothing
    action: {
      type: 'startWorkflow',
      workflowType: 'sweep',
      workflowId: 'sweep',
      taskQueue: 'upkeep',
      args: [],
      workflowExecutionTimeout: '5m', // a round that hangs must not keep the next ones from running
    },
  },
  retention: {
    scheduleId: 'retention',
    spec: { intervals: [{ every: '1m' }] }, // a run with nothing to do is a handful of index look-ups
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1m' },
    action: {
      type: 'startWorkflow',
      workflowType: 'retention',
      workflowId: 'retention',
      taskQueue: 'upkeep',
      args: [],
      workflowExecutionTimeout: '10m', // its 60 rounds take a minute or two when there is much to remove
    },
  },
} satisfies Record<string, ScheduleOptions & { action: { taskQueue: TaskQueue } }>;

export const scheduledTypes = Object.keys(schedules) as readonly (keyof typeof schedules)[];

/** Creates the schedules; an existing one is updated to the code's definition. */
export async function ensureSchedules(client: ScheduleClient): Promise<void> {
  for (const schedule of Object.values(schedules)) {
    if (await isCreated(client, schedule)) continue;
    await client.getHandle(schedule.scheduleId).update((current) => ({ ...current, ...schedule }));
  }
}

/** How often missing schedules are created again: before `/readyz` misses the sweeper (worker/reports/sweep-watch.ts). */
const everyMs = 5 * 60_000;

/**
 * Creates schedules again that somebody deleted, or that Temporal lost. Existing ones stay as they are: an older worker would
 * else undo the changes of a newer one.
 * @returns stops it
 */
export function keepSchedules(client: ScheduleClient, onFailure: (error: unknown) => void): () => void {
  const keeping = setInterval(() => void createMissingSchedules(client).catch(onFailure), everyMs);
  keeping.unref();
  return () => clearInterval(keeping);
}

/** Existing ones stay as they are. */
export async function createMissingSchedules(client: ScheduleClient): Promise<void> {
  for (const schedule of Object.values(schedules)) await isCreated(client, schedule);
}

/** @returns false where it exists already */
async function isCreated(client: ScheduleClient, schedule: ScheduleOptions): Promise<boolean> {
  try {
    await client.create(schedule);
    return true;
  } catch (error) {
    if (error instanceof ScheduleAlreadyRunning) return false;
    throw error;
  }
}
