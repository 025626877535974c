/** What an alert is, and the PromQL that several have in common. */

export interface Alert {
  /** It is true for as long as `lasting` before the alert fires. */
  readonly expr: string;
  /** In Prometheus's notation: `5m`. */
  readonly lasting: string;
  /** `critical`: somebody must look now, as what clubs or students wait for stands still. `warning`: within the day. */
  readonly severity: 'critical' | 'warning';
  /** One sentence, in Prometheus's template language. */
  readonly summary: string;
}

/**
 * A counter with labels is not there before it first counts, so that `increase` misses its first step: it counts whole where its
 * process was there before it. After a gap in the scrapes, or in a process that is new, `increase` alone tells.
 * @param counter a selector @param by labels to keep @returns how much it grew within the window, in all processes together
 */
export function growth(counter: string, window: string, by: readonly string[] = []): string {
  const began = `(${counter} unless ${counter} offset ${window}) and on (job, instance) up offset ${window}`;
  return `sum${by.length > 0 ? ` by (${by.join(', ')})` : ''} (${began} or increase(${counter}[${window}]))`;
}

/**
 * @param counter a metric's name @param bad matchers of what must be rare, such as `status="failed"`
 * @param atLeast so many of them within the window: a few of few say nothing
 * @returns true where their share of all is above `share`
 */
export function badShare(
  counter: string,
  bad: string,
  { share, atLeast, window }: { share: number; atLeast: number; window: string },
): string {
  const few = growth(`${counter}{${bad}}`, window);
  return `${few} > ${share} * ${growth(counter, window)} and ${few} >= ${atLeast}`;
}
