/**
 * The workflows with the least durable work. A delivery is one local activity; a run of an automation has an ordinary activity for each
 * step. All activities are empty.
 */
import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';

const { nothing } = proxyLocalActivities<{ nothing(): Promise<void> }>({ startToCloseTimeout: '30s' });
const { nothing: step } = proxyActivities<{ nothing(): Promise<void> }>({ startToCloseTimeout: '30s' });

export async function bareDelivery(): Promise<void> {
  await nothing();
}

export async function bareSteps(steps: number): Promise<void> {
  for (let steppedCount = 0; steppedCount < steps; steppedCount++) await step();
}
