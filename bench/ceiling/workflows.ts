/**
 * The least that durable work can be: a delivery is one workflow with one local activity, a run of an automation one with an ordinary
 * activity for each step. None of them does anything.
 */
import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';

const { nothing } = proxyLocalActivities<{ nothing(): Promise<void> }>({ startToCloseTimeout: '30s' });
const { nothing: step } = proxyActivities<{ nothing(): Promise<void> }>({ startToCloseTimeout: '30s' });

export async function bareDelivery(): Promise<void> {
  await nothing();
}

export async function bareSteps(steps: number): Promise<void> {
  for (let taken = 0; taken < steps; taken++) await step();
}
