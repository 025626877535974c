/** Decides which time the facts of a sale have (EVT-22). */

/**
 * @param platformAt the platform's time of the event
 * @param now the time at which the notice is processed
 * @returns the platform's time, but at most `now`, because its clock may be fast
 */
export function timeOfFact(platformAt: Date, now: Date): Date {
  return platformAt < now ? platformAt : now;
}
