/** The least that a durable delivery can be: one workflow with one local activity, neither of which does anything. */
import { proxyLocalActivities } from '@temporalio/workflow';

const { nothing } = proxyLocalActivities<{ nothing(): Promise<void> }>({ startToCloseTimeout: '30s' });

export async function bareDelivery(): Promise<void> {
  await nothing();
}
