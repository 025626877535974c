/** The activities of `add-on/<id>`. */
import { settleAddOn, type AddOnPlatform } from '../domain/billing/settling.ts';
import { timeOfStep } from './clock.ts';

export type AddOnActivities = ReturnType<typeof addOnActivities>;

export function addOnActivities(platform: AddOnPlatform) {
  return {
    /** Takes the add-on one step further. @param now the workflow's time in Unix milliseconds */
    settle: (addOnId: string, now: number) => settleAddOn(platform, addOnId, timeOfStep(now)),
  };
}
