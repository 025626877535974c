/** When the facts of a sale happened (EVT-22). */

/**
 * @param platformAt the platform's own time of what happened
 * @param now when the notice is processed
 * @returns the platform's time, but never one that has not come yet: a platform's clock may run ahead
 */
export function timeOfFact(platformAt: Date, now: Date): Date {
  return platformAt < now ? platformAt : now;
}
