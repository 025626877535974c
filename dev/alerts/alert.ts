/** The type of an alert, and PromQL expressions that several alerts share. */

export interface Alert {
  /** The condition in PromQL. The alert fires after the condition has been true for the duration `lasting`. */
  readonly expr: string;
  /** The duration in Prometheus's notation, such as `5m`. */
  readonly lasting: string;
  /**
   * `critical` means that an operator must act now, because clubs or students are blocked. `warning` means that an operator must act within
   * the day.
   */
  readonly severity: 'critical' | 'warning';
  /** A sentence that describes the problem, in Prometheus's template language. */
  readonly summary: string;
}

/**
 * Writes a PromQL expression for the growth of a counter. A counter with labels does not exist before its first count, so `increase` alone
 * would miss the first count. If the counter is new but its process is older, the expression uses the whole count. In a new process, or
 * after a gap in the scrapes, the expression uses only `increase`.
 * @param counter a selector @param by labels to keep @returns an expression for the growth within the window, summed over all processes
 */
export function growth(counter: string, window: string, by: readonly string[] = []): string {
  const began = `(${counter} unless ${counter} offset ${window}) and on (job, instance) up offset ${window}`;
  return `sum${by.length > 0 ? ` by (${by.join(', ')})` : ''} (${began} or increase(${counter}[${window}]))`;
}

/**
 * @param counter a metric's name @param bad matchers of the bad outcome, such as `status="failed"`
 * @param atLeast the minimum number of bad outcomes within the window, because the share of a few events means nothing
 * @returns an expression that is true if the share of bad outcomes is above `share`
 */
export function badShare(
  counter: string,
  bad: string,
  { share, atLeast, window }: { share: number; atLeast: number; window: string },
): string {
  const few = growth(`${counter}{${bad}}`, window);
  return `${few} > ${share} * ${growth(counter, window)} and ${few} >= ${atLeast}`;
}
