/** Until when a run waits at a step that it comes to; sooner where somebody tries automations on their own machine. Pure. */
import type { Step } from './definition.policy.ts';
import { deadlineOf } from './interpreter.policy.ts';

/** What the deadline of a wait depends on, beside its step. */
export interface WaitClock {
  timeZone: string;
  /** How many times faster waits pass (`AUTOMATION_WAIT_SPEED`); 1 if absent, as in production. */
  waitSpeed?: number | undefined;
}

/** @returns until when the run waits; null where the step waits for nothing. Fixed on entry (AUTO-10) */
export function deadlineOnEntry(step: Step, { timeZone, waitSpeed = 1 }: WaitClock, now: Date): Date | null {
  const deadline = deadlineOf(step, timeZone, now);
  return deadline && new Date(now.getTime() + Math.ceil((deadline.getTime() - now.getTime()) / waitSpeed));
}
