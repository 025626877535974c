/** Turns the step of a workflow into an activity, which gets the right time and sends heartbeats during long steps. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import type { Id } from '../platform/core/ids.ts';

/**
 * Returns the time that a step works with: the time of the workflow or of this machine, whichever is later (ADR 6). The workflow's time is
 * too early if the step waited in a queue or is repeated after an outage. In tests that skip time, the workflow's time is later.
 */
export function timeOfStep(workflowNow: number): number {
  return Math.max(workflowNow, Date.now());
}

/** @returns the activity that advances a row by one step; its `now` is the workflow's time in Unix milliseconds */
export function activityOf<Deps, Step>(
  step: (deps: Deps, id: Id, now: number) => Promise<Step>,
  deps: Deps,
): (id: Id, now: number) => Promise<Step> {
  return (id, now) => step(deps, id, timeOfStep(now));
}

/** A quarter of the 10 s that workflows wait for a heartbeat, so that one lost heartbeat does not end the activity. */
const beatMs = 2_500;

/** Runs the work and sends heartbeats during it, so that Temporal notices early when this process dies. */
export async function heartbeating<T>(work: () => Promise<T>, everyMs = beatMs): Promise<T> {
  const context = Context.current();
  const beats = setInterval(() => context.heartbeat(), everyMs);
  try {
    return await work();
  } finally {
    clearInterval(beats);
  }
}

/** A batch that Postgres slows down must not cause an equally long pause. In milliseconds. */
const longestRestMs = 1_000;

/**
 * Runs a step of bulk work. If the next step is due immediately, the activity first pauses for as long as this step took. So bulk work uses
 * at most half a core, and leaves time of Postgres and of the worker for other clubs.
 */
export async function restingAfter<Step extends { done: boolean; at?: number }>(
  step: () => Promise<Step>,
  rest: (ms: number) => Promise<unknown> = sleep,
): Promise<Step> {
  const startedAt = performance.now();
  const next = await step();
  if (!next.done && next.at === undefined) await rest(Math.min(longestRestMs, performance.now() - startedAt));
  return next;
}
