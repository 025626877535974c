/** Starts a round of the schedule `retention`. */
import { ScheduleClient } from '@temporalio/client';
import { readConfig } from '../../../config.ts';
import { connectCommand } from '../../../worker/temporal/connection.ts';
import type { Ground } from './victims.ts';

/** The schedule runs once a minute. More runs leave less time without work. */
export async function triggerRetention(ground: Ground): Promise<void> {
  const { temporal } = readConfig(ground.env);
  try {
    const connection = await connectCommand(temporal);
    try {
      await new ScheduleClient({ connection, namespace: temporal.namespace }).getHandle('retention').trigger();
    } finally {
      await connection.close();
    }
  } catch {
    // Temporal is dead, or the worker has not created the schedule yet. The schedule runs later.
  }
}
