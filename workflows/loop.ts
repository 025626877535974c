/** The level-triggered loop of every long-lived workflow (ENG-1). */
import { condition, defineSignal, setCurrentDetails, setHandler, workflowInfo } from '@temporalio/workflow';

/** Says "look again" and nothing else: early, late, lost or doubled, it does no harm. */
export const lookAgain = defineSignal('lookAgain');

/** What a step answers: how it ended, or when to look again (`at`, in Unix milliseconds) and what for. */
type Step = { done: true; outcome: unknown } | { done: false; at: number };
type Ended<Any extends Step> = Extract<Any, { done: true }>;
type Waiting<Any extends Step> = Extract<Any, { done: false }>;

/** Never wait for less: a row that is due by another clock's reading must not make the loop spin. */
const shortestWaitMs = 1_000;

/**
 * Steps until Postgres says that it is done, waiting in between for a signal or for the time that the step named.
 * @param step claims, acts, records, and says what Postgres now holds; gets the workflow's time in Unix milliseconds
 * @param options.waitingFor what is awaited, for the operator who reads the run: opaque words, never a name
 * @param options.startAfresh continues as a new run, so that no history grows without bound
 */
export async function lookAgainUntilDone<Any extends Step>(
  step: (now: number) => Promise<Any>,
  options: { waitingFor: (waiting: Waiting<Any>) => string; startAfresh: () => Promise<never> },
): Promise<Ended<Any>['outcome']> {
  let dirty = false;
  setHandler(lookAgain, () => {
    dirty = true;
  });
  for (;;) {
    dirty = false; // before the step, never after: a signal that arrives during it must not be lost
    const next = await step(Date.now());
    if (next.done && !dirty) return next.outcome;
    if (!next.done) {
      const waiting = next as Waiting<Any>;
      const wait = Math.max(shortestWaitMs, waiting.at - Date.now());
      const summary = options.waitingFor(waiting);
      setCurrentDetails(`Waiting for ${summary}, until ${new Date(Date.now() + wait).toISOString()}`);
      await condition(() => dirty, wait, { summary });
    }
    // Whatever is dirty by now is seen to: the new run begins with a step.
    if (workflowInfo().continueAsNewSuggested) await options.startAfresh();
  }
}
