/** What runs by the clock rather than for a row: Temporal Schedules, made or brought up to date at each start. */
import { Client, ScheduleAlreadyRunning, ScheduleOverlapPolicy, type ScheduleOptions } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
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
export async function ensureSchedules(connection: NativeConnection, namespace: string): Promise<void> {
  const { schedule: client } = new Client({ connection, namespace });
  for (const schedule of Object.values(schedules)) {
    try {
      await client.create(schedule);
    } catch (error) {
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
      await client.getHandle(schedule.scheduleId).update((current) => ({ ...current, ...schedule }));
    }
  }
}
