/** The activities of `add-on/<id>`. */
import { settleAddOn, type AddOnDeps } from '../domain/billing/settling.ts';
import { timeOfStep } from './clock.ts';

export type AddOnActivities = ReturnType<typeof addOnActivities>;

export function addOnActivities(deps: AddOnDeps) {
  return {
    /** Takes the add-on one step further. @param now the workflow's time in Unix milliseconds */
    settle: (addOnId: string, now: number) => settleAddOn(deps, addOnId, timeOfStep(now)),
  };
}
