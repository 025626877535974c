/** A worker that ends at a step of its work, by a failpoint, and an API that ends at a statement. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Ground } from './victims.ts';

/** One that never comes to the step is killed then. */
const withinMs = 90_000;

/** Kills the worker, and its next life at the failpoint. @returns whether it came there in time */
export const killAtStep = (ground: Ground, failpoint: string): Promise<boolean> =>
  isInTime(ground, 'worker', ground.killWorkerAt(failpoint));

/**
 * Kills the API, and its next life at a statement.
 * @param preload a file that ends the process by `END_AT_STATEMENT` @returns whether it came there in time
 */
export const killAtStatement = (ground: Ground, preload: URL, statement: number): Promise<boolean> =>
  isInTime(
    ground,
    'API',
    ground.killApiBy({ NODE_OPTIONS: `--import ${preload.href}`, END_AT_STATEMENT: String(statement) }),
  );

async function isInTime(ground: Ground, victim: 'worker' | 'API', ended: Promise<void>): Promise<boolean> {
  const late = new AbortController();
  const inTime = await Promise.race([ended.then(() => true), sleep(withinMs, false, { signal: late.signal })]);
  late.abort();
  await ground.kill(victim);
  return inTime;
}
