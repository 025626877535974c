/** The activities of `sales-notice/<id>` and `subscription-end/<id>`. */
import { processNotice, type NoticeDeps } from '../domain/sales/notices/processing.ts';
import { lookAtSubscriptionEnd } from '../domain/sales/purchases/subscription-end.ts';
import { timeOfStep } from './clock.ts';

export type SalesActivities = ReturnType<typeof salesActivities>;

export function salesActivities(deps: NoticeDeps) {
  return {
    /** Takes the notice one step further. @param now the workflow's time in Unix milliseconds */
    processNotice: (noticeId: string, now: number) => processNotice(deps, noticeId, timeOfStep(now)),
    /** Looks at the end of a subscription's access. @param now as above */
    lookAtSubscriptionEnd: (subscriptionId: string, now: number) =>
      lookAtSubscriptionEnd(deps.db.source, subscriptionId, timeOfStep(now)),
  };
}
