/** How the step of a workflow becomes an activity: with the right time, and with heartbeats where it takes long. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import type { Id } from '../platform/core/ids.ts';

/**
 * The time of a step: the later of workflow time and machine time (ADR 6). Workflow time lags behind where a step waited in a
 * queue or is repeated after an outage. In tests it runs ahead.
 */
export function timeOfStep(workflowNow: number): number {
  return Math.max(workflowNow, Date.now());
}

/** @returns the activity that takes a row one step further; its `now` is the workflow's time in Unix milliseconds */
export function activityOf<Deps, Step>(
  step: (deps: Deps, id: Id, now: number) => Promise<Step>,
  deps: Deps,
): (id: Id, now: number) => Promise<Step> {
  return (id, now) => step(deps, id, timeOfStep(now));
}

/** A quarter of the 10 s that workflows wait for a heartbeat: a lost one does not end the activity. */
const beatMs = 2_500;

/** Does the work and sends heartbeats meanwhile, so that Temporal notices early when this process dies. */
export async function heartbeating<T>(work: () => Promise<T>, everyMs = beatMs): Promise<T> {
  const context = Context.current();
  const beats = setInterval(() => context.heartbeat(), everyMs);
  try {
    return await work();
  } finally {
    clearInterval(beats);
  }
}

/** A batch that took longer, by a slow Postgres, does not make the import stand still for as long. */
const longestRestMs = 1_000;

/**
 * Takes a step of bulk work, and rests for as long as it took where more is to do at once: the work has half of a core at most,
 * and other clubs' requests find Postgres and the worker free in between.
 */
export async function restingAfter<Step extends { done: boolean; at?: number }>(
  step: () => Promise<Step>,
  rest: (ms: number) => Promise<unknown> = sleep,
): Promise<Step> {
  const begun = performance.now();
  const next = await step();
  if (!next.done && next.at === undefined) await rest(Math.min(longestRestMs, performance.now() - begun));
  return next;
}
