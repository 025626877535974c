/** For time-skipping.test.ts. */
import { sleep } from '@temporalio/workflow';

/** @returns how long the workflow slept according to its own clock, in milliseconds */
export async function sleepFor(duration: '30 days'): Promise<number> {
  const begunAt = Date.now();
  await sleep(duration);
  return Date.now() - begunAt;
}
