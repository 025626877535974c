/**
 * The common form of long-lived workflows (ENG-1). The workflow repeats its step until the step reports that the row has ended. Between
 * steps it waits for a signal, or until the time that the step returned.
 */
import {
  condition,
  continueAsNew,
  defineSignal,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
  type ActivityOptions,
} from '@temporalio/workflow';
import { inAbout } from '../platform/core/time/durations.policy.ts';
import type { FailedStep } from '../platform/engine/faults.ts';
import type { PutOffStep } from '../platform/engine/put-off.ts';

/** Asks a run to read its row again. The signal has no content, so it may come early, late, twice or never (ENG-1). */
const lookAgain = defineSignal('lookAgain');

/** `at` is the time of the next step, in Unix milliseconds. Without it, the next step is due immediately. */
type Step = { done: true; outcome: unknown } | { done: false; at?: number };
type Ended<S extends Step> = Extract<S, { done: true }>;
type Waiting<S extends Step> = Extract<S, { done: false }>;
type OutcomeOf<S extends Step> = Ended<S>['outcome'];

/** Texts for operators who read a run. They contain no personal data (ENG-12). */
interface Words<S extends Step> {
  /** The event that the run waits for, or the progress of the run if the next step is due immediately. */
  waitingFor: (waiting: Waiting<S>) => string;
  /** The "current details" in the Temporal UI during a long step. */
  during?: string;
  ended?: (ended: Ended<S>) => string;
}

/**
 * The retry policy of steps, without a limit of attempts. A refusal or a recorded fault is a result of the step, and no error (ENG-16). So
 * an activity throws only while Postgres is unavailable.
 */
export const untilItSucceeds = { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1m' } as const;

/** The shortest wait between steps, in milliseconds. It prevents a busy loop if the clocks of two machines differ. */
const shortestWaitMs = 1_000;

/** The result type of an activity. If the result is not a `Step`, the type is `never`, so that the code does not compile. */
type StepOf<Activity> = Activity extends (rowId: string, now: number) => Promise<infer S>
  ? S extends Step
    ? S
    : never
  : never;

/**
 * @param activity the name of the step in Temporal, which must not change while a workflow history contains it
 * @returns the workflow. The argument of the workflow is the id of the row
 */
export function stepWorkflow<Activities, Name extends keyof Activities & string>(
  activity: Name,
  options: Pick<ActivityOptions, 'startToCloseTimeout' | 'heartbeatTimeout' | 'retry'>,
  words: Words<StepOf<Activities[Name]>>,
): (rowId: string) => Promise<OutcomeOf<StepOf<Activities[Name]>>> {
  type Activity = (rowId: string, now: number) => Promise<StepOf<Activities[Name]>>;
  const step: Activity | undefined = proxyActivities<Record<string, Activity>>({
    retry: untilItSucceeds,
    ...options,
  })[activity];
  if (!step) throw new Error(`The workflow has no activity ${activity}.`);
  return (rowId) => repeat(rowId, (now) => step(rowId, now), words);
}

/**
 * Repeats the step until the row has ended. When the server suggests it, the run ends and continues as a new run with an empty history.
 * @returns the outcome
 */
export async function repeat<S extends Step>(
  rowId: string,
  step: (now: number) => Promise<S | FailedStep | PutOffStep>,
  words: Words<S>,
): Promise<OutcomeOf<S>> {
  let signaled = false;
  setHandler(lookAgain, () => {
    signaled = true;
  });
  for (;;) {
    signaled = false; // set before the step, so that a signal that arrives during the step is not lost
    if (words.during !== undefined) setCurrentDetails(words.during);
    const next = await step(Date.now());
    if (isFailed(next)) await waitFor(next, anotherTry(next), () => signaled);
    else if (isPutOff(next)) await waitFor(next, itsTurn(next), () => signaled);
    else if (next.done && !signaled) {
      const ended = next as Ended<S>;
      if (words.ended) setCurrentDetails(words.ended(ended));
      return ended.outcome;
    } else if (!next.done) await waitFor(next as Waiting<S>, words.waitingFor(next as Waiting<S>), () => signaled);
    // The new run begins with a step, so a signal of the old run is not lost.
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<(rowId: string) => Promise<unknown>>(rowId);
  }
}

function isFailed(next: Step | FailedStep | PutOffStep): next is FailedStep {
  return 'failing' in next;
}

function isPutOff(next: Step | FailedStep | PutOffStep): next is PutOffStep {
  return 'putOff' in next;
}

function itsTurn({ at }: PutOffStep): string {
  return `a permit beside other work of its club ${inAbout(at - Date.now())}`;
}

function anotherTry({ at, failing: { faults, code } }: FailedStep): string {
  return `another try ${inAbout(at - Date.now())}, after ${faults} fault(s) of ours, the last one ${code}`;
}

async function waitFor({ at }: { at?: number }, summary: string, signaled: () => boolean): Promise<void> {
  if (at === undefined) return setCurrentDetails(summary);
  const wait = Math.max(shortestWaitMs, at - Date.now());
  setCurrentDetails(`Waiting for ${summary}, until ${new Date(Date.now() + wait).toISOString()}`);
  await condition(signaled, wait, { summary });
}
