/** The type of an alert, and PromQL expressions that several alerts share. */

export interface Alert {
  /** The condition in PromQL. The alert fires when it stays true for `lasting`. */
  readonly expr: string;
  /** A duration in Prometheus's notation, such as `5m`. */
  readonly lasting: string;
  /** `critical`: an operator must act now, because clubs or students are blocked. `warning`: an operator must act within the day. */
  readonly severity: 'critical' | 'warning';
  /** A sentence in Prometheus's template language. */
  readonly summary: string;
}

/**
 * Writes a PromQL expression for the growth of a counter. A counter with labels does not exist before its first count, so `increase` alone
 * would miss that count. So for a new counter in an older process, the expression uses the whole count. After a start, or after a gap in
 * the scrapes, it uses only `increase`.
 * @param counter a selector @param by labels to keep @returns the growth within the window, summed over all processes
 */
export function growth(counter: string, window: string, by: readonly string[] = []): string {
  const began = `(${counter} unless ${counter} offset ${window}) and on (job, instance) up offset ${window}`;
  return `sum${by.length > 0 ? ` by (${by.join(', ')})` : ''} (${began} or increase(${counter}[${window}]))`;
}

/**
 * @param counter a metric's name @param bad matchers of the bad outcomes, such as `status="failed"`
 * @param atLeast a minimum of bad outcomes within the window, because a share of few events means nothing
 * @returns true if the share of bad outcomes is above `share`
 */
export function badShare(
  counter: string,
  bad: string,
  { share, atLeast, window }: { share: number; atLeast: number; window: string },
): string {
  const few = growth(`${counter}{${bad}}`, window);
  return `${few} > ${share} * ${growth(counter, window)} and ${few} >= ${atLeast}`;
}
