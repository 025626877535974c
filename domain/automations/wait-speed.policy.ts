/** Computes when a run's wait at a step ends. A setting shortens all waits, for development on a local machine. The functions are pure. */
import type { Step } from './versions/definition.policy.ts';
import { deadlineOf } from './interpreter.policy.ts';

/** The settings that decide the end of a wait, besides the step. */
export interface WaitClock {
  timeZone: string;
  /** The factor by which waits are shortened (`AUTOMATION_WAIT_SPEED`); 1 if absent, as in production. */
  waitSpeed?: number | undefined;
}

/** @returns the end of the wait, which is fixed when the run enters the step (AUTO-10); null if the step does not wait */
export function deadlineOnEntry(step: Step, { timeZone, waitSpeed = 1 }: WaitClock, now: Date): Date | null {
  const deadline = deadlineOf(step, timeZone, now);
  return deadline && new Date(now.getTime() + Math.ceil((deadline.getTime() - now.getTime()) / waitSpeed));
}
