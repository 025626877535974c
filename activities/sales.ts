/** The activities of `sales-notice/<id>` and `subscription-end/<id>`. */
import { processNotice, type NoticePlatform } from '../domain/sales/notices/processing.ts';
import { lookAtSubscriptionEnd } from '../domain/sales/purchases/subscription-end.ts';
import { timeOfStep } from './clock.ts';

export type SalesActivities = ReturnType<typeof salesActivities>;

export function salesActivities(platform: NoticePlatform) {
  return {
    /** Takes the notice one step further. @param now the workflow's time in Unix milliseconds */
    processNotice: (noticeId: string, now: number) => processNotice(platform, noticeId, timeOfStep(now)),
    /** Looks at the end of a subscription's access. @param now as above */
    lookAtSubscriptionEnd: (subscriptionId: string, now: number) =>
      lookAtSubscriptionEnd(platform.database.source, subscriptionId, timeOfStep(now)),
  };
}
