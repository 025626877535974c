/** Ends a worker at a failpoint of its work, or a worker or an API process at a statement. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Ground } from './victims.ts';

const endedAtStatement = new URL('./ended-at-statement.ts', import.meta.url);
/** If the process does not reach the step within this time, the proof kills it. */
const withinMs = 90_000;

/**
 * Kills the worker, restarts it, and waits until it ends at the failpoint.
 * @returns whether the worker reached the failpoint in time
 */
export const killAtStep = (ground: Ground, failpoint: string): Promise<boolean> =>
  isInTime(ground, 'worker', ground.killWorkerAt(failpoint));

/**
 * Kills the API, restarts it, and waits until it ends at the statement.
 * @param kind the kind of transaction, by its name in ended-at-statement.ts
 */
export const killAtStatement = (ground: Ground, kind: 'booking' | 'key', statement: number): Promise<boolean> =>
  isInTime(ground, 'API', ground.killApiBy(endingAt(kind, statement)));

/** Kills the worker, restarts it, and waits until it ends at the statement of a month that ends. */
export const killWorkerAtStatement = (ground: Ground, statement: number): Promise<boolean> =>
  isInTime(ground, 'worker', ground.killWorkerBy(endingAt('month', statement)));

const endingAt = (kind: string, statement: number): Readonly<Record<string, string>> => ({
  NODE_OPTIONS: `--import ${endedAtStatement.href}`,
  END_IN: kind,
  END_AT_STATEMENT: String(statement),
});

async function isInTime(ground: Ground, victim: 'worker' | 'API', ended: Promise<void>): Promise<boolean> {
  const late = new AbortController();
  const inTime = await Promise.race([ended.then(() => true), sleep(withinMs, false, { signal: late.signal })]);
  late.abort();
  await ground.kill(victim);
  return inTime;
}
