/** What runs by the clock rather than for a row: Temporal Schedules, made or brought up to date at each start, and made again where they are missing. */
import {
  ScheduleAlreadyRunning,
  ScheduleOverlapPolicy,
  type ScheduleClient,
  type ScheduleOptions,
} from '@temporalio/client';
import type { TaskQueue } from '../platform/engine/workflow-types.ts';

/** By the workflow type that each starts. */
export const schedules = {
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

/** Makes the schedules; one that stands is brought to what the code says. */
export async function ensureSchedules(client: ScheduleClient): Promise<void> {
  for (const schedule of Object.values(schedules)) {
    if (await isCreated(client, schedule)) continue;
    await client.getHandle(schedule.scheduleId).update((current) => ({ ...current, ...schedule }));
  }
}

/** How often missing schedules are made again: sooner than the sweeper is missed (worker/sweep-watch.ts). */
const everyMs = 5 * 60_000;

/**
 * Makes schedules again that somebody deleted, or that an engine forgot which came back empty. Those that stand are left alone: an
 * older worker beside a newer one would bring them back to what it knows.
 * @returns stops it
 */
export function keepSchedules(client: ScheduleClient, onFailure: (error: unknown) => void): () => void {
  const keeping = setInterval(() => void createMissing(client).catch(onFailure), everyMs);
  keeping.unref();
  return () => clearInterval(keeping);
}

async function createMissing(client: ScheduleClient): Promise<void> {
  for (const schedule of Object.values(schedules)) await isCreated(client, schedule);
}

/** @returns false where it stands already */
async function isCreated(client: ScheduleClient, schedule: ScheduleOptions): Promise<boolean> {
  try {
    await client.create(schedule);
    return true;
  } catch (error) {
    if (error instanceof ScheduleAlreadyRunning) return false;
    throw error;
  }
}
