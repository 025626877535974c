/** A worker that ends at a step of its work, by a failpoint. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Ground } from './victims.ts';

/** A worker that never comes to the step is killed then. */
const withinMs = 90_000;

/** Kills the worker, and its next life at the failpoint. @returns whether it came there in time */
export async function killAtStep(ground: Ground, failpoint: string): Promise<boolean> {
  const late = new AbortController();
  const isInTime = await Promise.race([
    ground.killWorkerAt(failpoint).then(() => true),
    sleep(withinMs, false, { signal: late.signal }),
  ]);
  late.abort();
  await ground.kill('worker');
  return isInTime;
}
